//! Failure on purpose: what can be injected and which call it hits. Pure matching; acting on it is the
//! caller's.

use serde_json::Value;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// Not executed; answered with this error.
    Status {
        /// HTTP status and `error_code`.
        code: u16,
        /// Text of the answer, with its prefix.
        description: String,
        /// `parameters` of the answer.
        parameters: Option<Value>,
    },
    /// Not executed; answered with 502 and a web page instead of JSON.
    Html502,
    /// Executed, but the connection is closed without an answer.
    NoAnswerButDone,
    /// Not executed, and the connection is closed without an answer.
    NoAnswerNotDone,
    /// Executed after a wait, then answered. The caller may give up meanwhile; the call goes on.
    Slow {
        /// Simulated milliseconds.
        ms: u64,
    },
}

/// A fault and the calls it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Only calls of this method, whatever the case; `None` is any.
    pub method: Option<String>,
    /// Only calls about this chat; `None` is any.
    pub chat: Option<i64>,
    /// What goes wrong.
    pub kind: FaultKind,
    /// How many calls it hits.
    pub times: u32,
}

impl Fault {
    fn is_for(&self, method: &str, chat: Option<i64>) -> bool {
        self.times > 0
            && self
                .method
                .as_ref()
                .is_none_or(|name| name.eq_ignore_ascii_case(method))
            && (self.chat.is_none() || self.chat == chat)
    }
}

/// Takes the first fault that is for this call, and counts it.
pub(crate) fn take(faults: &mut Vec<Fault>, method: &str, chat: Option<i64>) -> Option<FaultKind> {
    let fault = faults.iter_mut().find(|fault| fault.is_for(method, chat))?;
    fault.times -= 1;
    let kind = fault.kind.clone();
    faults.retain(|fault| fault.times > 0);
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(method: Option<&str>, chat: Option<i64>, times: u32) -> Fault {
        Fault {
            method: method.map(ToOwned::to_owned),
            chat,
            kind: FaultKind::Html502,
            times,
        }
    }

    #[test]
    fn a_fault_hits_as_often_as_it_says() {
        let mut faults = vec![fault(None, None, 2)];
        assert!(take(&mut faults, "getMe", None).is_some());
        assert!(take(&mut faults, "sendMessage", Some(1)).is_some());
        assert_eq!(take(&mut faults, "getMe", None), None);
        assert!(faults.is_empty());
    }

    #[test]
    fn a_fault_hits_only_its_method_and_its_chat() {
        let mut faults = vec![fault(Some("sendMessage"), Some(5), 1)];
        assert_eq!(take(&mut faults, "sendPhoto", Some(5)), None);
        assert_eq!(take(&mut faults, "sendMessage", Some(6)), None);
        assert_eq!(take(&mut faults, "sendMessage", None), None);
        assert!(take(&mut faults, "SENDMESSAGE", Some(5)).is_some());
    }
}
