//! The local stack with a scripted function, over real queues and real processes.

mod bridge;
mod feeding;
mod front;
mod harness;
mod order;
mod processes;
mod restart;
