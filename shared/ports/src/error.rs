//! How a call to a store or a queue fails, classed once where it is converted.

use penstock_domain::failure::Disposition;

/// A failed call to a store or a queue. Variants are what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The service refuses for now (throttled, unavailable); nothing was applied.
    #[error("{operation} was refused for now: {code}")]
    Unavailable {
        /// What was asked.
        operation: &'static str,
        /// The service's own code.
        code: String,
    },
    /// No answer came: it may have been applied. Every write here is conditional, so repeating it is safe.
    #[error("{operation} got no answer")]
    NoAnswer {
        /// What was asked.
        operation: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The request itself is wrong: no repeat will cure it.
    #[error("{operation} was rejected: {code}")]
    Rejected {
        /// What was asked.
        operation: &'static str,
        /// The service's own code.
        code: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What is stored cannot be read.
    #[error("{operation}: stored {what} cannot be read")]
    Unreadable {
        /// What was asked.
        operation: &'static str,
        /// The field or item.
        what: &'static str,
    },
}

impl PortError {
    /// Its class.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Unavailable { .. } => Disposition::Transient,
            Self::NoAnswer { .. } => Disposition::Ambiguous,
            Self::Rejected { .. } | Self::Unreadable { .. } => Disposition::Permanent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_one_class() {
        let unavailable = PortError::Unavailable {
            operation: "claim",
            code: "ThrottlingException".to_owned(),
        };
        assert_eq!(unavailable.disposition(), Disposition::Transient);
        let lost = PortError::NoAnswer {
            operation: "claim",
            source: "timeout".into(),
        };
        assert_eq!(lost.disposition(), Disposition::Ambiguous);
        let unreadable = PortError::Unreadable {
            operation: "claim",
            what: "state",
        };
        assert_eq!(unreadable.disposition(), Disposition::Permanent);
    }
}
