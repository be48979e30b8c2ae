//! The ledger's side that a person sees.

use penstock_domain::ids::{BotId, LedgerKey, UpdateDigest};
use penstock_domain::repair::Act;
use penstock_ports::{AttentionKind, AuditRow, Letter, Page, Place, PortError, Repaired, Repairs};

use super::Ledger;

impl Repairs for Ledger {
    async fn attention(
        &self,
        bot: BotId,
        kind: AttentionKind,
        shard: u8,
        from: Option<&Place>,
    ) -> Result<Page, PortError> {
        self.list_attention(bot, kind, shard, from).await
    }

    async fn letter(&self, key: &LedgerKey) -> Result<Option<Letter>, PortError> {
        self.read_letter(key).await
    }

    async fn body(&self, key: &LedgerKey) -> Result<Option<String>, PortError> {
        self.raw_body(key).await
    }

    async fn audit(&self, key: &LedgerKey) -> Result<Vec<AuditRow>, PortError> {
        self.read_audit(key).await
    }

    async fn redrive(&self, letter: &Letter, act: &Act) -> Result<Repaired, PortError> {
        self.redrive_letter(letter, act).await
    }

    async fn edit(
        &self,
        letter: &Letter,
        before: UpdateDigest,
        raw: &str,
        act: &Act,
    ) -> Result<Repaired, PortError> {
        self.edit_letter(letter, before, raw, act).await
    }

    async fn discard(&self, letter: &Letter, act: &Act) -> Result<Repaired, PortError> {
        self.discard_letter(letter, act).await
    }

    async fn resend(&self, letter: &Letter, n: u8, act: &Act) -> Result<Repaired, PortError> {
        self.resend_intent(letter, n, act).await
    }

    async fn settle_unknown(&self, letter: &Letter, n: u8, act: &Act) -> Result<Repaired, PortError> {
        self.settle_unknown_intent(letter, n, act).await
    }
}
