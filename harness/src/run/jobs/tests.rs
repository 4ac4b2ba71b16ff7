//! How jobs divide the work, without subjects.

use std::time::{Duration, Instant};

use super::RunMode;
use super::work::{Planned, Work, WorkState, is_worth_sharing};

const SECOND: Duration = Duration::from_secs(1);

fn work(conversations: Vec<Vec<usize>>) -> Work {
    Work::of(conversations.into_iter().map(|cases| Planned { cases, mode: RunMode::Shared }).collect())
}

fn idle(work: &Work, count: usize) {
    while work.lock().idle != count {
        std::thread::yield_now();
    }
}

#[test]
fn slow_conversation_shares_if_the_half_takes_longer_than_two_starts() {
    let shares = |spent, done, left| is_worth_sharing(SECOND, spent * SECOND, done, left);
    assert!(shares(3, 3, 6), "three cases of one second each, for a start of one second");
    assert!(!shares(3, 3, 4), "two of them are worth no start");
    assert!(!shares(3, 3, 1) && !shares(3, 3, 0));
    assert!(!shares(1, 1, 100), "only the start is known");
}

#[test]
fn waiting_job_gets_what_a_conversation_gives_away() {
    let work = work(vec![vec![1, 2, 3]]);
    std::thread::scope(|scope| {
        let (first, running) = work.take().expect("a conversation");
        let other = scope.spawn(|| work.take().map(|(planned, _)| planned.cases));
        idle(&work, 1);
        assert!(work.is_wanted());
        work.put_back(first.cases[1..].to_vec());
        assert_eq!(other.join().expect("a job"), Some(vec![2, 3]));
        assert!(!work.is_wanted());
        drop(running);
        assert!(work.take().is_none() && work.ends_within(SECOND));
    });
}

#[test]
fn waiting_job_takes_cases_behind_one_that_lasts() {
    let work = work(vec![]);
    let taken_after = |seconds| {
        work.lock().take_from_stuck(Instant::now() + seconds * SECOND);
        work.lock().waiting.drain(..).flat_map(|planned| planned.cases).collect::<Vec<_>>()
    };
    work.begin(1, &[10, 11, 12, 13, 14]);
    assert!(taken_after(19).is_empty(), "the start may be slow");
    assert_eq!(taken_after(21), [13, 14]);
    assert_eq!(work.next_case(1, |_| false), Some(11));
    assert!(taken_after(4).is_empty());
    assert_eq!(taken_after(6), [12]);
    assert!(taken_after(60).is_empty(), "the current case stays");
    assert_eq!(work.next_case(1, |_| false), None);
    work.begin(2, &[20, 21, 22]);
    assert_eq!(work.next_case(2, |next| next == 21), None, "the next job skips it");
    assert_eq!(work.end(2, 1), [21, 22]);
    assert!(work.end(1, 2).is_empty());
}

#[test]
fn waiting_job_ends_with_the_last_conversation() {
    let work = work(vec![vec![1], vec![2]]);
    std::thread::scope(|scope| {
        let running = work.take().expect("a conversation");
        work.close();
        let other = scope.spawn(|| work.take().is_none());
        idle(&work, 1);
        assert!(!work.ends_within(Duration::ZERO), "a conversation runs");
        drop(running);
        assert!(other.join().expect("a job"));
    });
    assert!(matches!(*work.lock(), WorkState { running: 0, idle: 0, .. }));
}

#[test]
fn closed_work_takes_nothing_back() {
    let work = work(vec![vec![1, 2], vec![3]]);
    let interrupted = work.take().expect("a conversation");
    work.close();
    work.put_back(interrupted.0.cases);
    drop(interrupted.1);
    assert!(work.ends_within(Duration::ZERO) && work.take().is_none());
}

#[test]
fn repetition_comes_before_all_that_waits_while_a_conversation_runs() {
    let work = work(vec![vec![1, 2], vec![3, 4]]);
    let running = work.take().expect("a conversation");
    work.put_first(vec![1, 2]);
    let next = || work.take().map(|(planned, _)| (planned.cases, planned.mode == RunMode::Confirm));
    assert_eq!([next(), next(), next()], [Some((vec![1], true)), Some((vec![2], true)), Some((vec![3, 4], false))]);
    drop(running);
    work.put_first(vec![1]);
    assert_eq!(next(), None, "the jobs may have ended");
}

#[test]
fn confirmations_come_from_all_that_waits_and_end_with_the_last_conversation() {
    let work = work(vec![vec![1, 2], vec![3]]);
    let running = work.take().expect("a conversation");
    std::thread::scope(|scope| {
        let lane =
            scope.spawn(|| std::iter::from_fn(|| work.take_confirmation().map(|it| it.0.cases)).collect::<Vec<_>>());
        work.put_first(vec![1]);
        while work.lock().waiting.len() > 1 {
            std::thread::yield_now();
        }
        let rest = work.take().expect("the other conversation");
        drop((running, rest));
        assert_eq!(lane.join().expect("a lane"), [[1]]);
    });
}
