//! How long a first freeze would take.
