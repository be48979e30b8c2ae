//! No case of the suite is forgotten in its list.

#[test]
fn every_case_of_the_contract_is_in_its_list() {
    let list = include_str!("../../src/contract/mod.rs");
    let modules = [
        include_str!("../../src/contract/breakers.rs"),
        include_str!("../../src/contract/claim.rs"),
        include_str!("../../src/contract/dead.rs"),
        include_str!("../../src/contract/gates.rs"),
        include_str!("../../src/contract/intents.rs"),
        include_str!("../../src/contract/outcome.rs"),
        include_str!("../../src/contract/repairs.rs"),
        include_str!("../../src/contract/resends.rs"),
        include_str!("../../src/contract/unknown.rs"),
    ];
    let listed: Vec<_> = list
        .split_whitespace()
        .map(|word| word.trim_end_matches(';'))
        .collect();
    let mut cases = 0;
    for module in modules {
        for case in module
            .split("\npub async fn ")
            .skip(1)
            .filter_map(|rest| rest.split('<').next())
        {
            assert!(
                listed.contains(&case),
                "{case} is not in the list of `contract_tests`"
            );
            cases += 1;
        }
    }
    assert!(cases > 50, "only {cases} cases were found");
}
