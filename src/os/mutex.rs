//! A mutex with a deadline that is safe over `fork()`.
//!
//! Invariants:
//! * The whole state is one word: 0 free, 1 held, 2 held and perhaps somebody waits. Nothing
//!   outside it knows of waiters, so a child that inherits a held mutex from its own forking
//!   thread can simply unlock it. (`std`'s has no deadline; `parking_lot` keeps its waiters in a
//!   process-wide table with locks of its own, which a fork can catch held.)
//! * No poisoning: a panic inside a call is caught at the boundary and must not turn every later
//!   call into an error.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::deadline::Deadline;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

pub(crate) struct Mutex<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a `Guard` or an `OwnedGuard`, of which one exists at a
// time (`acquire` returns true to one caller until `release`); so sharing the mutex only ever
// moves `T` between threads.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Waits for the mutex until the deadline; `None` when that passed first.
    pub(crate) fn lock(&self, deadline: &Deadline) -> Option<Guard<'_, T>> {
        self.acquire(|| Some(deadline.remaining())).then(|| Guard::of(self))
    }

    /// Waits for the mutex without end. Only for holders that are known to be quick.
    pub(crate) fn lock_unbounded(&self) -> Guard<'_, T> {
        self.acquire(|| None);
        Guard::of(self)
    }

    /// If it is free.
    #[cfg(feature = "redis")]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.try_acquire().then(|| Guard::of(self))
    }

    /// As [`Mutex::try_lock`], with a guard that can be kept while a fork is under way.
    #[cfg(feature = "redis")]
    pub(crate) fn try_lock_owned(self: &Arc<Self>) -> Option<OwnedGuard<T>> {
        self.try_acquire().then(|| OwnedGuard { mutex: Arc::clone(self), _value: PhantomData })
    }

    /// As [`Mutex::lock_unbounded`], with a guard that can be kept while a fork is under way.
    pub(crate) fn lock_owned(self: &Arc<Self>) -> OwnedGuard<T> {
        self.acquire(|| None);
        OwnedGuard { mutex: Arc::clone(self), _value: PhantomData }
    }

    fn try_acquire(&self) -> bool {
        self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn acquire(&self, time_left: impl Fn() -> Option<Duration>) -> bool {
        if self.try_acquire() {
            return true;
        }
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            let left = time_left();
            if left == Some(Duration::ZERO) {
                return false;
            }
            futex_wait(&self.word, CONTENDED, left);
        }
        true
    }

    fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) == CONTENDED {
            futex_wake_one(&self.word);
            // Else a thread in a tight loop takes the lock again before the woken one has run.
            std::thread::yield_now();
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

pub(crate) struct Guard<'a, T> {
    mutex: &'a Mutex<T>,
    // To be shared between threads only if `T` may be.
    _value: PhantomData<&'a mut T>,
}

impl<'a, T> Guard<'a, T> {
    fn of(mutex: &'a Mutex<T>) -> Self {
        Self { mutex, _value: PhantomData }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard exists only while its mutex is held, and it is the only one.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes this borrow the only one.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.mutex.release();
    }
}

/// A guard that owns a share of its mutex.
pub(crate) struct OwnedGuard<T> {
    mutex: Arc<Mutex<T>>,
    _value: PhantomData<T>,
}

impl<T> Deref for OwnedGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard exists only while its mutex is held, and it is the only one.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for OwnedGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes this borrow the only one.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for OwnedGuard<T> {
    fn drop(&mut self) {
        self.mutex.release();
    }
}

/// Sleeps while `word` holds `value`; may return early, so the caller looks again.
fn futex_wait(word: &AtomicU32, value: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|left| libc::timespec {
        tv_sec: left.as_secs() as libc::time_t,
        tv_nsec: left.subsec_nanos() as libc::c_long,
    });
    let timeout_pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `word` is an aligned u32 that outlives the call; the timeout is NULL or a timespec
    // on this stack; FUTEX_WAIT reads both and writes nothing.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            timeout_pointer,
        );
    }
}

fn futex_wake_one(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE only uses the address of `word`, which is a live reference here.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_exclude_each_other() {
        let total = Arc::new(Mutex::new(0u64));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let total = Arc::clone(&total);
                std::thread::spawn(move || {
                    for _ in 0..20_000 {
                        let mut guard = total.lock_unbounded();
                        let seen = *guard;
                        *guard = seen + 1;
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*total.lock_unbounded(), 80_000);
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let mutex = Mutex::new(());
        let _held = mutex.lock_unbounded();
        assert!(mutex.lock(&Deadline::after(Duration::from_millis(5))).is_none());
        assert!(mutex.lock(&Deadline::after(Duration::ZERO)).is_none());
    }
}
