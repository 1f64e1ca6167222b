//! Rules of the protocol that can be broken on purpose: a model that stays green without one of them
//! would not look at it.

/// One rule that the model does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Who did not find a counter makes it live without another look under the stripe.
    NoSecondLook,
    /// A mark says attempts and admitted, not of which life.
    MarkWithoutTag,
    /// A slot is freed although SQLite does not hold its state.
    EvictionUnwritten,
    /// A slot is freed and `spill` stays as it is.
    NoSpill,
    /// The odd tag is stored before the identity is.
    PublishedBeforeIdentity,
    /// Slots are read before the writer has SQLite's write lock.
    ReadBeforeTheWriteLock,
    /// Who reads a state, then the identity, does not look at the tag again.
    NoTagRecheck,
    /// The bit is looked at before the count, and set after it if it was clear then.
    BitLookedAtBeforeTheCount,
    /// The flusher clears the bits after it has read the states.
    BitsClearedAfterReading,
    /// A prune deletes the rows, then frees the slots.
    RowDeletedBeforeTheSlotIsFreed,
    /// A hit adds to whatever life the slot is in.
    AddWithoutTagCheck,
    /// Who writes stores the halves of a mark one by one.
    WritersMarkInTwoStores,
    /// Who claims stores the halves of the mark one by one, and counts after the claim.
    ClaimersMarkInTwoStores,

    /// The clock is read before the stripe is locked, and not again.
    ClockReadOnce,
    /// The clock is not read again after a row.
    ClockNotReadAfterTheRow,
    /// A counter whose row a prune may have taken is clean when its mark is its state.
    PrunedTakenForClean,
    /// `pruned_until` is raised when the rows are gone.
    PrunedUntilRaisedLast,
    /// A claimer that has written a full bucket waits for a clean slot, which a pruned one never is.
    PrunedNeverLetGo,
    /// A round is under way from when it has cleared the bits.
    RoundFlaggedLate,
    /// What a refusal takes back is not announced.
    UndoNotAnnounced,
    /// A refund of a counter whose attempts are at their end leaves the tag as it is.
    RefundWithinALife,
    /// A claim that takes out of such a counter marks it with the row.
    RefundClaimedAsStored,
    /// A claimer reads the halves of a mark one by one, the high one again after the low one.
    MarkReadInHalves,
    /// A slot that has another identity after the count was another's at the count, whatever its tag.
    LeftTakenForFullCircle,
    /// A hit under two limits takes the slot in which it has reserved a unit for the other.
    OwnSlotTaken,
}
