# What people and CI run. `just --list` shows it.

# Format everything.
fmt:
    cargo fmt --all

# What CI refuses: formatting, lints, broken docs.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# The README's test command.
test:
    cargo test --workspace

# The local stack.
dev *ARGS:
    cargo run -- dev {{ARGS}}

# Every sample through the whole pipeline.
samples:
    cargo run -- dev --headless --exit-when-idle --events events/

# Deployable bootstraps.
build:
    sam build

# Invoke a deployed-style function on a sample: `just invoke IngressFunction events/http/text.json`.
invoke FUNCTION EVENT:
    sam local invoke {{FUNCTION}} -e {{EVENT}} --skip-pull-image

# All that CI runs.
ci:
    .ci/run

# What is longer: deploy into an emulation, release bootstraps, load.
ci-full:
    .ci/full
