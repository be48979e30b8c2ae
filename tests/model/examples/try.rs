//! temp
use penstock_model::{check::explore, pipeline::Pipeline, scenarios};
fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    for mut s in scenarios::all() {
        if !want.is_empty() && !want.iter().any(|w| s.name.starts_with(w.as_str())) { continue; }
        let t = std::time::Instant::now();
        if std::env::vars().any(|(k, _)| k == "NODRAIN") { s.drain_every = 0; }
        let name = s.name;
        let f = explore(Pipeline { scenario: s, fault: None }, &[]);
        eprintln!("{name}: {} ({}) {:?}", f.states, f.unique, t.elapsed());
        for (n, p) in f.broken { eprintln!("   BROKEN {n}:"); for a in p { eprintln!("      {a}"); } }
    }
}
