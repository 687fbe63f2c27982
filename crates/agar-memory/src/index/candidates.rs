//! The documents most alike to a query, as far as a budget reaches.

use crate::error::MemoryError;
use crate::index::build::fold;
use crate::index::file::{Entry, SegmentFile};
use crate::index::{Files, Index};
use crate::terms::{Term, Terms};
use agar_store::memory::{Evidence, MemoryReader};
use std::collections::HashMap;
use std::sync::Arc;

/// Postings that one query reads.
const BUDGET: usize = 40_000;

/// Documents taken from the files for a closer look at their age and project.
const LOOKED_AT: usize = 320;

/// What is looked for.
pub(crate) struct Query<'a> {
    pub(crate) terms: &'a Terms,
    /// A hash of the project that asks.
    pub(crate) project: i64,
    /// How many to answer.
    pub(crate) most: usize,
    /// How much a document weighs, by whether it is of this project and the second of its end.
    pub(crate) weigh: &'a dyn Fn(bool, u32) -> f64,
}

/// A document that may be alike.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) evidence: Evidence,
    pub(crate) terms: Terms,
}

/// What was found, and what is needed to compare it.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) found: Vec<Candidate>,
    /// All documents there are.
    pub(crate) documents: f64,
    /// In how many documents each term of the query occurs.
    pub(crate) frequency: HashMap<u32, f64>,
}

impl Candidates {
    /// How much a term tells apart.
    pub(crate) fn telling(&self, frequency: f64) -> f64 {
        (1.0 + self.documents / frequency.max(1.0)).ln()
    }
}

struct Hit {
    file: usize,
    document: usize,
    score: f64,
}

impl Index {
    /// The best candidates for a query, from the files and from the rows that no file holds.
    pub(crate) fn candidates(
        &self,
        reader: &MemoryReader<'_>,
        query: &Query<'_>,
    ) -> Result<Candidates, MemoryError> {
        let Files {
            sound: files,
            unusable,
            last: last_indexed,
        } = self.files(reader)?;
        let mut answer = Candidates::default();
        let mut tail: Vec<(Evidence, Terms)> = Vec::new();
        let mut ranges = vec![(last_indexed + 1, i64::MAX)];
        ranges.extend(unusable.iter().map(|it| (it.first, it.last)));
        for (first, last) in ranges {
            reader.each_evidence(first, last, |evidence| {
                let terms = Terms::unpack(&evidence.terms);
                tail.push((evidence, terms));
                Ok::<(), MemoryError>(())
            })?;
        }
        let entries = self.frequencies(&files, query, &tail, &mut answer)?;
        let hits = self.hits(&files, &entries, &answer)?;
        let mut ranked = weigh(&files, hits, query)?;
        ranked.truncate(query.most);
        for (number, _) in ranked {
            if let Some(evidence) = reader.evidence(number)? {
                let terms = Terms::unpack(&evidence.terms);
                answer.found.push(Candidate { evidence, terms });
            }
        }
        let shared = |terms: &Terms| {
            terms
                .iter()
                .any(|term| answer.frequency.contains_key(&term.hash))
        };
        let tail: Vec<Candidate> = tail
            .into_iter()
            .filter(|(_, terms)| shared(terms))
            .map(|(evidence, terms)| Candidate { evidence, terms })
            .collect();
        answer.found.extend(tail);
        Ok(answer)
    }

    /// Looks up each term of the query everywhere.
    fn frequencies(
        &self,
        files: &[Arc<SegmentFile>],
        query: &Query<'_>,
        tail: &[(Evidence, Terms)],
        answer: &mut Candidates,
    ) -> Result<Vec<(usize, Term, Entry)>, MemoryError> {
        let unreadable = |source| MemoryError::Index {
            directory: self.directory.clone(),
            source,
        };
        let indexed: usize = files.iter().map(|file| file.documents()).sum();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let documents = (indexed + tail.len()) as f64;
        answer.documents = documents;
        let mut entries = Vec::new();
        for term in query.terms.iter() {
            let mut frequency = 0.0;
            for (place, file) in files.iter().enumerate() {
                let found = file.entry(term.hash).map_err(unreadable)?;
                frequency += found.map_or(0.0, |entry| f64::from(entry.documents));
                entries.extend(found.map(|entry| (place, term, entry)));
            }
            answer.frequency.insert(term.hash, frequency);
        }
        for term in tail.iter().flat_map(|(_, terms)| terms.iter()) {
            if let Some(frequency) = answer.frequency.get_mut(&term.hash) {
                *frequency += 1.0;
            }
        }
        answer.frequency.retain(|_, frequency| *frequency > 0.0);
        Ok(entries)
    }

    /// Adds up what the lists say, the rarest terms first, until the budget is spent.
    fn hits(
        &self,
        files: &[Arc<SegmentFile>],
        entries: &[(usize, Term, Entry)],
        answer: &Candidates,
    ) -> Result<Vec<Hit>, MemoryError> {
        let mut order: Vec<&(usize, Term, Entry)> = entries.iter().collect();
        let rarity = |hash: u32| answer.frequency.get(&hash).copied().unwrap_or(0.0);
        order.sort_by(|a, b| rarity(a.1.hash).total_cmp(&rarity(b.1.hash)));
        let mut starts = Vec::with_capacity(files.len());
        let mut total = 0;
        for file in files {
            starts.push(total);
            total += file.documents();
        }
        let mut scores = self.scores.borrow_mut();
        scores.clear(postings_at_most(&order));
        let mut buffer = Vec::new();
        let mut left = BUDGET;
        for (rank, (place, term, entry)) in order.iter().enumerate() {
            // What is left is shared among the lists to come, so that one long list cannot eat it.
            let share = (left / (order.len() - rank)).max(256).min(left.max(1));
            let telling = answer.telling(rarity(term.hash));
            #[expect(clippy::cast_possible_truncation, reason = "a score is rough")]
            let gain = (telling * telling * term.weight() / 255.0) as f32;
            let start = starts[*place];
            let read = files[*place]
                .postings(entry, share, &mut buffer, |document, says| {
                    scores.add(start + document, gain * f32::from(says));
                })
                .map_err(|source| MemoryError::Index {
                    directory: self.directory.clone(),
                    source,
                })?;
            left = left.saturating_sub(read);
        }
        let mut best: Vec<(f32, usize)> = scores.all().collect();
        if best.len() > LOOKED_AT {
            best.select_nth_unstable_by(LOOKED_AT, |a, b| b.0.total_cmp(&a.0));
            best.truncate(LOOKED_AT);
        }
        Ok(best
            .into_iter()
            .map(|(score, at)| {
                let file = starts.partition_point(|&start| start <= at) - 1;
                Hit {
                    file,
                    document: at - starts[file],
                    score: f64::from(score),
                }
            })
            .collect())
    }
}

/// The most postings that the query can read of these lists.
fn postings_at_most(entries: &[&(usize, Term, Entry)]) -> usize {
    let there: usize = entries
        .iter()
        .map(|(_, _, entry)| entry.kept as usize)
        .sum();
    // The least that each list is granted may go beyond the budget.
    there.min(BUDGET + 256 * entries.len())
}

/// Orders the hits by how much they would weigh: likeness squared, age and project.
fn weigh(
    files: &[Arc<SegmentFile>],
    hits: Vec<Hit>,
    query: &Query<'_>,
) -> Result<Vec<(i64, f64)>, MemoryError> {
    let project = fold(query.project);
    let mut ranked = Vec::with_capacity(hits.len());
    for hit in hits {
        let document = files[hit.file]
            .document(hit.document)
            .map_err(MemoryError::io)?;
        let weight = (query.weigh)(document.project == project, document.closed_seconds);
        ranked.push((document.number, hit.score * hit.score * weight));
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(ranked)
}
