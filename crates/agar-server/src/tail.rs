//! Following what happens: the journal and the output of runs, from any point on.
//!
//! A message's id says where its reader is: the number of the last journal entry, and of the output
//! which runs and how many bytes of each: several may run at once. Both are on disk, so a client that
//! comes back with the last id it has misses nothing: not what happened meanwhile, not across a
//! restart of the server, and not what another process did.
//!
//! A client reads from disk until it has caught up, and from then on hears what one reader tells all
//! who follow the same (`source.rs`). One that falls too far behind reads from disk again. Its own
//! cursor says of everything whether it was told before, so nothing is missed and nothing told twice,
//! whoever was ahead.

mod cursor;
mod look;
mod ring;
mod source;
mod told;

pub(crate) use cursor::Cursor;
pub(crate) use look::What;
pub(crate) use source::Sources;

use crate::app::{App, Place};
use crate::refusal::Refusal;
use crate::stream::{self, Gone, SIGN_OF_LIFE, Sender};
use axum::response::Response;
use cursor::Heard;
use look::Looker;
use ring::Since;
use source::{Source, Stage};
use std::sync::Arc;
use tokio::sync::watch;
use told::Told;

/// Answers with a stream of what happens from there on.
pub(crate) fn follow(
    app: &App,
    place: Place,
    what: What,
    cursor: Cursor,
) -> Result<Response, Refusal> {
    let (sender, response) = stream::open(app)?;
    let source = source::join(app, place, what);
    let looker = Looker::at(source.what().clone(), cursor);
    tokio::spawn(async move {
        let client = Client {
            source,
            looker,
            sender,
        };
        // Over, or the client has gone: either way there is nobody left to tell.
        let _ = client.tell().await;
    });
    Ok(response)
}

/// One who follows.
struct Client {
    source: Arc<Source>,
    looker: Looker,
    sender: Sender,
}

/// Why a client stops listening to what all are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// Something is missing, which the disk has.
    Behind,
    /// Nothing more will be told.
    Ended,
}

impl Client {
    /// Tells everything until nothing more can come.
    async fn tell(mut self) -> Result<(), Gone> {
        // At once, so that whoever waits for the answer knows that it began.
        self.sender.comment("agar").await?;
        let mut stages = self.source.stages();
        // What happens before the reader has begun is not told to all.
        let begun = stages.wait_for(|stage| *stage != Stage::Beginning);
        self.sender.unless_closed(begun).await?.map_err(|_| Gone)?;
        loop {
            let Some(place) = self.catch_up().await? else {
                return Ok(());
            };
            if self.listen(place).await? == Pause::Ended {
                // What the reader could not tell any more.
                self.catch_up().await?;
                return Ok(());
            }
        }
    }

    /// Reads from disk until there is nothing more, and says from which place on to listen then.
    /// Nothing if nothing more can come.
    async fn catch_up(&mut self) -> Result<Option<u64>, Gone> {
        loop {
            // Before the disk is read: everything that was told to all before is on it.
            let place = self.source.end();
            let looking = self.source.look(self.looker.clone());
            let found = self.sender.unless_closed(looking).await?.ok_or(Gone)?;
            let (looker, seen) = found.map_err(|_| Gone)?;
            for told in &seen.told {
                self.sender.message(told.own()).await?;
            }
            self.looker = looker;
            if seen.over {
                return Ok(None);
            }
            if !seen.more {
                return Ok(Some(place));
            }
        }
    }

    /// Listens to what all are told, from a place on.
    async fn listen(&mut self, mut place: u64) -> Result<Pause, Gone> {
        let mut stages = self.source.stages();
        loop {
            // Before the ring: what comes afterwards is a change.
            let stage = *stages.borrow_and_update();
            let all = match self.source.since(place) {
                Since::Told(all) => all,
                Since::Lost => return Ok(Pause::Behind),
                Since::Nothing if stage == Stage::Ended => return Ok(Pause::Ended),
                Since::Nothing => {
                    self.wait(&mut stages).await?;
                    continue;
                }
            };
            place += all.len() as u64;
            if !self.hear(&all).await? {
                return Ok(Pause::Behind);
            }
        }
    }

    /// Waits for something to be told, and shows now and then that it is there.
    async fn wait(&self, stages: &mut watch::Receiver<Stage>) -> Result<(), Gone> {
        let news = tokio::time::timeout(SIGN_OF_LIFE, stages.changed());
        match self.sender.unless_closed(news).await? {
            Ok(news) => news.map_err(|_| Gone),
            Err(_) => self.sender.comment("quiet").await,
        }
    }

    /// Tells what all are told, as far as it was not told before. Whether nothing is missing.
    async fn hear(&mut self, all: &[Arc<Told>]) -> Result<bool, Gone> {
        let cursor = &mut self.looker.cursor;
        for told in all {
            let message = match cursor.hear(told) {
                Heard::Known => continue,
                Heard::Gap => return Ok(false),
                Heard::New => told.message_at(cursor),
                Heard::Partly(known) => told.rest_at(known, cursor),
            };
            self.sender.message(message).await?;
        }
        Ok(true)
    }
}
