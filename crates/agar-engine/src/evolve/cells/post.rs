//! Messages that wait for a lasting cell.

use super::super::tables::{hex, unhex};
use super::act::failed;
use super::keep::{Held, broken, document};
use super::shadow;
use super::view::CellView;
use crate::{Engine, EngineError};
use serde::{Deserialize, Serialize};

/// Leaves a message for a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellSendRequest {
    /// Which.
    pub name: String,
    /// The message.
    pub message: Vec<u8>,
}

/// A message that waits now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSent {
    /// The cell, as it is now.
    pub cell: CellView,
    /// The number of the message; its answer will have it too.
    pub ticket: u64,
}

/// Leaves a message for a cell without running it. A mailbox that is full refuses.
pub fn send_to_cell(engine: &Engine, request: &CellSendRequest) -> Result<CellSent, EngineError> {
    let mut held = Held::take(engine, &request.name)?;
    let ticket = match held.cell.send(request.message.clone()) {
        Ok(ticket) => ticket,
        Err(error) => return Err(failed(engine, &request.name, error)?),
    };
    held.put(engine)?;
    let cell = CellView::new(&held.kept, &held.row)?;
    Ok(CellSent { cell, ticket })
}

/// Has a cell answer messages that wait for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CellWorkRequest {
    /// Which.
    pub name: String,
    /// How many at most; all of them if left out.
    pub most: Option<u64>,
}

/// The answer to one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellAnswered {
    /// The number of the message.
    pub ticket: u64,
    /// The answer as text; what is no text is replaced.
    pub text: Option<String>,
    /// The answer in hexadecimal digits.
    pub digits: Option<String>,
    /// Why there is none.
    pub error: Option<String>,
}

/// What a cell answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellWorked {
    /// The cell, as it is now.
    pub cell: CellView,
    /// In the order in which the messages were sent.
    pub answers: Vec<CellAnswered>,
}

/// Has a cell answer its messages, in order. One whose run fails is answered with the failure; where
/// that crashes the cell, the rest goes on waiting.
pub fn work_of_cell(engine: &Engine, request: &CellWorkRequest) -> Result<CellWorked, EngineError> {
    let mut held = Held::take(engine, &request.name)?;
    let waiting = document(&held.row)?.messages;
    let most = request.most.unwrap_or(u64::MAX);
    let mut answers = Vec::new();
    for (ticket, digits) in waiting {
        if answers.len() as u64 >= most {
            break;
        }
        let message = unhex(&digits).map_err(|error| broken(&request.name, &error))?;
        let Some(answer) = held.cell.work(1).pop() else {
            break;
        };
        debug_assert_eq!(answer.ticket, ticket, "messages are answered in order");
        let cost = held.cell.metrics().last_instructions;
        let said = answer.result.as_ref().ok().map(|said| (said, cost));
        shadow::compare(engine, &mut held, said, |cell| cell.step(&message))?;
        let (said, error) = match answer.result {
            Ok(said) => (Some(said), None),
            Err(error) => (
                None,
                Some(failed(engine, &request.name, error)?.to_string()),
            ),
        };
        answers.push(CellAnswered {
            ticket: answer.ticket,
            text: said
                .as_ref()
                .map(|said| String::from_utf8_lossy(said).into_owned()),
            digits: said.as_deref().map(hex),
            error,
        });
    }
    held.put(engine)?;
    let cell = CellView::new(&held.kept, &held.row)?;
    Ok(CellWorked { cell, answers })
}
