//! The model's tests: every promise in every scenario, and a counterexample for each rule that is off.

#[cfg(test)]
mod broken;
#[cfg(test)]
mod whole;

/// Enough of a counterexample to follow it.
#[cfg(test)]
fn told(steps: &[String]) -> String {
    steps
        .iter()
        .enumerate()
        .map(|(number, step)| format!("\n  {:>2}. {step}", number + 1))
        .collect()
}
