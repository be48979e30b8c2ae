//! The scenarios in which every promise is held, each small enough to be explored whole.

use crate::scenario::{Budget, Scenario, Spec};

/// No accidents.
const NONE: Budget = Budget {
    crash: 0,
    slow: 0,
    duplicate: 0,
    repeat: 0,
    away: 0,
    partial: 0,
    fail: 0,
    permanent: 0,
    lost: 0,
    redrive: 0,
    resend: 0,
    rollback: 0,
    reuse: 0,
};

const POISON: Spec = Spec {
    poison: true,
    ..Spec::of(0, 0)
};

/// One Update with one send, and every accident of machines.
#[must_use]
pub fn one_update() -> Scenario {
    let budget = Budget {
        crash: 2,
        slow: 2,
        duplicate: 1,
        repeat: 1,
        ..NONE
    };
    Scenario::new("one update", vec![Spec::of(0, 1)], budget)
}

/// The outcome of one Update of a built-in bot, whose first receive runs without a claim.
#[must_use]
pub fn one_unclaimed() -> Scenario {
    let budget = Budget {
        crash: 2,
        slow: 2,
        duplicate: 1,
        repeat: 2,
        fail: 2,
        ..NONE
    };
    Scenario {
        unclaimed: true,
        senders: 0,
        ..Scenario::new("one update, unclaimed", vec![Spec::of(0, 1)], budget)
    }
}

/// One Update whose stores answer with errors.
#[must_use]
pub fn stores_away() -> Scenario {
    let budget = Budget {
        crash: 1,
        slow: 1,
        duplicate: 1,
        away: 2,
        partial: 1,
        ..NONE
    };
    Scenario {
        unclaimed: true,
        ..Scenario::new("stores away", vec![Spec::of(0, 1)], budget)
    }
}

/// One Update that may be tried only once: whoever burns a try without need kills it.
#[must_use]
pub fn impatient() -> Scenario {
    let budget = Budget {
        crash: 1,
        slow: 1,
        duplicate: 1,
        repeat: 2,
        ..NONE
    };
    Scenario {
        max_attempts: 1,
        ..Scenario::new("one try", vec![Spec::of(0, 1)], budget)
    }
}

/// Two Updates of one chat.
#[must_use]
pub fn one_chat() -> Scenario {
    let budget = Budget {
        crash: 1,
        slow: 2,
        duplicate: 1,
        repeat: 1,
        fail: 1,
        ..NONE
    };
    Scenario {
        senders: 0,
        ..Scenario::new(
            "two updates of one chat",
            vec![Spec::of(0, 0), Spec::of(0, 0)],
            budget,
        )
    }
}

/// The same, unclaimed.
#[must_use]
pub fn one_chat_unclaimed() -> Scenario {
    Scenario {
        unclaimed: true,
        ..one_chat()
    }
    .named("two updates of one chat, unclaimed")
}

/// Queues that give messages up soon.
#[must_use]
pub fn given_up() -> Scenario {
    let budget = Budget {
        crash: 2,
        slow: 2,
        duplicate: 1,
        repeat: 1,
        ..NONE
    };
    Scenario {
        max_receives: 1,
        ..Scenario::new("given up by the queue", vec![Spec::of(0, 1)], budget)
    }
}

/// The same of a built-in bot.
#[must_use]
pub fn given_up_unclaimed() -> Scenario {
    Scenario {
        unclaimed: true,
        senders: 0,
        ..given_up()
    }
    .named("given up by the queue, unclaimed")
}

/// A poison beside a neighbour in another chat, with two processors.
#[must_use]
pub fn poison() -> Scenario {
    let budget = Budget {
        fail: 1,
        duplicate: 1,
        ..NONE
    };
    Scenario {
        senders: 0,
        ..Scenario::new("a poison and its neighbour", vec![POISON, Spec::of(1, 0)], budget)
    }
}

/// A poison beside two neighbours in one invocation.
#[must_use]
pub fn poison_of_three() -> Scenario {
    let budget = Budget { fail: 1, ..NONE };
    Scenario {
        batch: 3,
        processors: 1,
        senders: 0,
        ..Scenario::new(
            "a poison in a full batch",
            vec![POISON, Spec::of(1, 0), Spec::of(2, 0)],
            budget,
        )
    }
}

/// The same of a built-in bot.
#[must_use]
pub fn poison_unclaimed() -> Scenario {
    Scenario {
        unclaimed: true,
        ..poison()
    }
    .named("a poison and its neighbour, unclaimed")
}

/// The sends of two Updates of one chat.
#[must_use]
pub fn sends() -> Scenario {
    let budget = Budget {
        partial: 1,
        fail: 1,
        ..NONE
    };
    Scenario {
        processors: 1,
        ..Scenario::new("sends of one chat", vec![Spec::of(0, 2), Spec::of(0, 1)], budget)
    }
}

/// Two senders at one Update's sends.
#[must_use]
pub fn two_senders() -> Scenario {
    let budget = Budget {
        crash: 1,
        slow: 2,
        duplicate: 1,
        lost: 1,
        fail: 1,
        repeat: 1,
        ..NONE
    };
    Scenario {
        processors: 0,
        committed: true,
        senders: 2,
        ..Scenario::new("two senders", vec![Spec::of(0, 2)], budget)
    }
}

/// A dead Update that a person redrives, twice.
#[must_use]
pub fn redrive() -> Scenario {
    let budget = Budget {
        crash: 2,
        slow: 1,
        duplicate: 1,
        repeat: 1,
        permanent: 2,
        redrive: 2,
        ..NONE
    };
    Scenario {
        max_attempts: 2,
        max_receives: 3,
        senders: 0,
        ..Scenario::new("redrive", vec![Spec::of(0, 1)], budget)
    }
}

/// The same of a built-in bot: copies of an old generation run without a claim.
#[must_use]
pub fn redrive_unclaimed() -> Scenario {
    Scenario {
        unclaimed: true,
        ..redrive()
    }
    .named("redrive, unclaimed")
}

/// A send that a person has repeated.
#[must_use]
pub fn resend() -> Scenario {
    let budget = Budget {
        crash: 2,
        slow: 1,
        duplicate: 2,
        repeat: 1,
        lost: 1,
        permanent: 1,
        resend: 2,
        ..NONE
    };
    Scenario {
        processors: 0,
        committed: true,
        ..Scenario::new("resend", vec![Spec::of(0, 1)], budget)
    }
}

/// A release that is rolled back while newer bodies wait.
#[must_use]
pub fn rollback() -> Scenario {
    let newer = Spec {
        newer: true,
        ..Spec::of(0, 0)
    };
    let budget = Budget {
        crash: 1,
        slow: 1,
        fail: 1,
        rollback: 1,
        ..NONE
    };
    Scenario {
        senders: 0,
        max_receives: 5,
        ..Scenario::new("rollback", vec![newer, Spec::of(0, 0)], budget)
    }
}

/// An id that is used again after its record outlived its life.
#[must_use]
pub fn reuse() -> Scenario {
    let budget = Budget {
        crash: 1,
        slow: 1,
        repeat: 1,
        duplicate: 1,
        fail: 1,
        reuse: 1,
        ..NONE
    };
    Scenario {
        unclaimed: true,
        ..Scenario::new("an id used again", vec![Spec::of(0, 1)], budget)
    }
}

/// All of them.
#[must_use]
pub fn all() -> Vec<Scenario> {
    vec![
        one_update(),
        one_unclaimed(),
        stores_away(),
        impatient(),
        one_chat(),
        one_chat_unclaimed(),
        given_up(),
        given_up_unclaimed(),
        poison(),
        poison_unclaimed(),
        poison_of_three(),
        sends(),
        two_senders(),
        redrive(),
        redrive_unclaimed(),
        resend(),
        rollback(),
        reuse(),
    ]
}
