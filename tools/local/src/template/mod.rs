//! `template.yaml` as the local stack reads it: text -> nodes -> values -> typed [`Resources`].
//!
//! The same file that is deployed decides what exists locally. Never a second list of queues or
//! environment variables beside it.

mod account;
mod error;
mod extract;
mod function;
mod node;
mod parameters;
mod resolve;
mod resources;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

pub use account::{Account, DEFAULT_STACK_NAME, LOCAL_ACCOUNT_ID, LOCAL_REGION};
pub use error::TemplateError;
pub use resources::{Function, Index, Key, Queue, QueueSource, Resources, Route, Table};

use node::Node;
use resolve::Scope;

/// The template of this project, as it was when the tool was built.
const EMBEDDED: &str = include_str!("../../../../template.yaml");

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template {
    root: Node,
}

impl Template {
    /// The template built in.
    ///
    /// # Errors
    /// When it is not valid.
    pub fn embedded() -> Result<Self, TemplateError> {
        Self::parse(EMBEDDED)
    }

    /// A template file.
    ///
    /// # Errors
    /// When it cannot be read or parsed.
    pub fn read(path: &Path) -> Result<Self, TemplateError> {
        let text = std::fs::read_to_string(path).map_err(|source| TemplateError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text)
    }

    /// Template text.
    ///
    /// # Errors
    /// When it is not valid.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            root: Node::parse(text)?,
        })
    }

    /// Whether the template declares a parameter.
    #[must_use]
    pub fn has_parameter(&self, name: &str) -> bool {
        self.root
            .get("Parameters")
            .is_some_and(|parameters| parameters.get(name).is_some())
    }

    /// Resolves the template for an account.
    ///
    /// # Errors
    /// When something the local stack needs is missing, wrong or not supported; the error names it.
    pub fn resolve(
        &self,
        account: &Account,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Resources, TemplateError> {
        extract::resources(&Scope::new(&self.root, account, parameters)?)
    }
}
