//! scratch
use crate::harness::{Drill, LIMIT};
use penstock_local::{SimulatedTelegram, Stack, Telegram};
use std::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn measure() {
    let mut drill = Drill::new();
    drill.options.template = None;
    drill.options.telegram = Telegram::Simulated(SimulatedTelegram {
        profile: telegram_sim::Profile::Real,
        ..SimulatedTelegram::default()
    });
    let t = Instant::now();
    let stack = Stack::start(drill.options.clone()).await.unwrap();
    eprintln!("start {:?}", t.elapsed());
    let sim = stack.sim().unwrap();
    let t = Instant::now();
    sim.user_text(1, 1, "/start").unwrap();
    while !sim
        .calls()
        .iter()
        .any(|c| c.method == "sendMessage" && c.is_done())
    {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    eprintln!("first reply {:?}", t.elapsed());
    assert!(stack.idle(LIMIT).await);
    let t = Instant::now();
    sim.user_text(1, 1, "again").unwrap();
    let n = sim
        .calls()
        .iter()
        .filter(|c| c.method == "sendMessage" && c.is_done())
        .count();
    while sim
        .calls()
        .iter()
        .filter(|c| c.method == "sendMessage" && c.is_done())
        .count()
        == n
    {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    eprintln!("warm reply {:?}", t.elapsed());
    for round in 0..2 {
        let t = Instant::now();
        for i in 0..400 {
            sim.user_text(1000 + round * 1000 + i, 1000 + i, "hello").unwrap();
        }
        let ok = stack.idle(std::time::Duration::from_secs(240)).await;
        eprintln!("400 updates {ok} {:?} calls {}", t.elapsed(), sim.calls().len());
        for f in stack.view().functions() {
            eprintln!("{f:?}");
        }
        for f in stack.view().mappings() {
            eprintln!("{f:?}");
        }
        let mut err: std::collections::BTreeMap<String, usize> = Default::default();
        for l in stack.view().logs().recent() {
            if !l.text.contains("INFO") {
                let k: String = l.text.chars().take(150).collect();
                *err.entry(k).or_default() += 1;
            }
        }
        for (k, v) in err.into_iter().take(8) {
            eprintln!("{v} {k}");
        }
    }
    eprintln!("calls {:?}", stack.engine().unwrap().calls());
    let t = Instant::now();
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    eprintln!("cpu {}", std::fs::read_to_string("/proc/self/stat").unwrap());
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    eprintln!("cpu {}", std::fs::read_to_string("/proc/self/stat").unwrap());
    let _ = t;
    let t = Instant::now();
    stack.shutdown().await;
    eprintln!("stop {:?}", t.elapsed());
}
