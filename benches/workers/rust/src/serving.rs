//! The protocol: opens the limiter, says `ready`, works on each line of the input and answers it.

use std::io::Write;
use std::sync::Barrier;

use crate::answer::Answer;
use crate::clock;
use crate::hitting::{self, Round, Span};
use crate::job::{Command, Job, Manner};
use crate::peer::{Answered, Peer, Session};
use crate::tally::Tally;

pub fn serve<P: Peer>(job: &Job) -> Answered<()> {
    let text = std::fs::read_to_string(&job.keys)
        .map_err(|error| format!("cannot read the keys of \"{}\": {error}", job.keys))?;
    let keys = text.lines().map(P::key).collect::<Answered<Vec<_>>>()?;
    if keys.is_empty() {
        return Err(format!("no keys in \"{}\"", job.keys));
    }
    let mut worker = Worker::<P>::open(job, &keys)?;
    say("ready")?;
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| format!("cannot read a command: {error}"))?;
        let command = serde_json::from_str(&line)
            .map_err(|error| format!("cannot read the command {line}: {error}"))?;
        let answer = worker.work(&command);
        say(&serde_json::to_string(&answer).map_err(|error| error.to_string())?)?;
    }
    Ok(())
}

fn say(line: &str) -> Answered<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| format!("cannot answer: {error}"))
}

struct Worker<'j, P: Peer> {
    job: &'j Job,
    keys: &'j [P::Key],
    peer: P,
    threads: Vec<Thread<'j, P>>,
}

struct Thread<'j, P: Peer> {
    session: P::Session,
    round: Round<'j, P::Key>,
}

impl<'j, P: Peer> Worker<'j, P> {
    fn open(job: &'j Job, keys: &'j [P::Key]) -> Answered<Self> {
        if job.threads == 0 {
            return Err("a job needs a thread".to_owned());
        }
        let peer = P::open(job)?;
        let own = P::key(&format!("worker-{}", std::process::id()))?;
        let mut threads = Vec::with_capacity(job.threads);
        for number in 0..job.threads {
            let mut session = peer.session()?;
            session.hitter()?(&own)?;
            // Threads begin at different places of the same round.
            let round = Round::new(keys, keys.len() * number / job.threads);
            threads.push(Thread { session, round });
        }
        Ok(Self { job, keys, peer, threads })
    }

    fn work(&mut self, command: &Command) -> Answer {
        match *command {
            Command::Run { seconds, manner } => self.hit(for_time(seconds), manner),
            Command::Hits { count, manner } => self.hit(Span { ns: u64::MAX, count }, manner),
            Command::Open { seconds, manner } => self.open_hit_close(for_time(seconds), manner),
            Command::Prune => self.prune(),
            Command::About { manner } => Answer::About {
                version: self.peer.version(),
                clock_ns: clock::cost_ns(),
                loop_ns: hitting::idle_ns(self.keys, manner),
            },
        }
    }

    fn hit(&mut self, span: Span, manner: Manner) -> Answer {
        let begin = Barrier::new(self.threads.len());
        together(&mut self.threads, |Thread { session, round }| {
            let hitter = session.hitter();
            begin.wait();
            match hitter {
                Ok(hitter) => hitting::hit(span, manner, round, hitter),
                Err(error) => failed(error),
            }
        })
    }

    fn open_hit_close(&mut self, span: Span, manner: Manner) -> Answer {
        let (job, begin) = (self.job, Barrier::new(self.threads.len()));
        together(&mut self.threads, |Thread { round, .. }| {
            begin.wait();
            hitting::hit(span, manner, round, |key| P::open(job)?.session()?.hitter()?(key))
        })
    }

    fn prune(&mut self) -> Answer {
        let mut tally = Tally::new(clock::now_ns());
        let removed = self.threads[0].session.prune().unwrap_or_else(|error| {
            tally.fail(error);
            0
        });
        tally.end_ns = clock::now_ns();
        Answer::prune(tally, removed)
    }
}

/// The first on this thread, so that a worker of one thread is not another program than its peers
/// in other languages.
fn together<T: Send>(parts: &mut [T], work: impl Fn(&mut T) -> Tally + Sync) -> Answer {
    let (first, others) = parts.split_first_mut().expect("a worker has a thread");
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> =
            others.iter_mut().map(|part| scope.spawn(move || work(part))).collect();
        let first = work(first);
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|_| failed("a thread panicked".to_owned())));
        Answer::hits(first, others.collect())
    })
}

fn failed(error: String) -> Tally {
    let mut tally = Tally::new(clock::now_ns());
    tally.fail(error);
    tally
}

fn for_time(seconds: f64) -> Span {
    Span { ns: (seconds * 1e9) as u64, count: u64::MAX }
}
