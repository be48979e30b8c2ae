//! The processes below a process, and their memory, from `/proc`. Linux; elsewhere there is nothing to tell.
//! Never sends a signal.

use serde::Serialize;

/// The argument in front of a function's name.
const FUNCTION_ARGUMENT: &str = penstock_local::lambda::FUNCTION_ARGUMENT;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The function that it serves, or `stack`.
    pub(crate) name: String,
    /// Memory that it holds now, KiB.
    pub(crate) resident_kib: u64,
    /// The most that it has held, KiB.
    pub(crate) peak_kib: u64,
}

/// A process and the functions that it has started, by name.
pub(crate) fn family(pid: u32) -> Vec<Process> {
    let mut children: Vec<Process> = all()
        .filter(|other| parent(*other) == Some(pid))
        .filter_map(function)
        .collect();
    children.sort_by(|one, other| (&one.name, one.pid).cmp(&(&other.name, other.pid)));
    let stack = status(pid).map(|status| process(pid, "stack", &status));
    stack.into_iter().chain(children).collect()
}

/// All processes that a process has started, and that those have, while each of them has its parent.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == of)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found.remove(0);
    found
}

/// Whether a process runs; one that only waits to be collected does not.
pub(crate) fn is_running(pid: u32) -> bool {
    let Some(status) = status(pid) else { return false };
    !matches!(
        field(&status, "State:").and_then(|state| state.chars().next()),
        None | Some('Z' | 'X')
    )
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn status(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

fn parent(pid: u32) -> Option<u32> {
    field(&status(pid)?, "PPid:")?.parse().ok()
}

fn function(pid: u32) -> Option<Process> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split('\0').skip_while(|word| *word != FUNCTION_ARGUMENT);
    let name = words.nth(1)?;
    Some(process(pid, name, &status(pid)?))
}

fn process(pid: u32, name: &str, status: &str) -> Process {
    let kib = |name| {
        field(status, name)
            .and_then(|value| value.split(' ').next()?.parse().ok())
            .unwrap_or(0)
    };
    Process {
        pid,
        name: name.to_owned(),
        resident_kib: kib("VmRSS:"),
        peak_kib: kib("VmHWM:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_status_of_a_process() {
        let told = process(
            7,
            "sender",
            "Name:\tpenstock\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n",
        );
        assert_eq!((told.resident_kib, told.peak_kib), (10_240, 20_480));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs_and_has_no_functions() {
        let own = std::process::id();
        assert!(is_running(own));
        let family = family(own);
        assert_eq!(
            family
                .iter()
                .map(|process| process.name.as_str())
                .collect::<Vec<_>>(),
            ["stack"]
        );
        assert!(family[0].resident_kib > 0);
    }
}
