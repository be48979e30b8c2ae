//! temp
use penstock_model::{check::explore, fault::Fault, pipeline::Pipeline};
fn main() {
    let want: Vec<String> = std::env::args().skip(1).collect();
    for fault in Fault::ALL {
        let n = format!("{fault:?}");
        if !want.is_empty() && !want.contains(&n) { continue; }
        let t = std::time::Instant::now();
        let (scenario, promise) = fault.shows_in();
        let name = scenario.name;
        let f = explore(Pipeline { scenario, fault: Some(fault) }, &[promise.name()]);
        let hit = f.broken.iter().find(|b| b.0 == promise.name());
        eprintln!("{n} in {name}: {} of {promise:?}; {} ({}) {:?} others {:?}", hit.map_or("NOT FOUND".into(), |h| h.1.len().to_string()), f.states, f.unique, t.elapsed(), f.broken.iter().map(|b| b.0).collect::<Vec<_>>());
        if !want.is_empty() { for a in hit.map(|h| h.1.clone()).unwrap_or_default() { eprintln!("    {a}"); } }
    }
}
