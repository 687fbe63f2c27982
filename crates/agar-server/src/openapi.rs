//! The description of the interface, made from the table of routes.
//!
//! Bodies and the seed's answers are described by their types; answers that are the command line's
//! are described by its published schemas, which whoever starts the server hands in.

use crate::routes::{Answer, Row, Shapes, table};
use serde_json::{Map, Value, json};

/// The description, in `OpenAPI` 3.1. `schema_of` gives the schema of a command's answer.
pub fn document(schema_of: &dyn Fn(&str) -> Option<Value>) -> Value {
    let mut schemas = Map::new();
    if let Some(error) = schema_of("error") {
        schemas.insert("Error".to_owned(), plain(error));
    }
    let mut paths: Map<String, Value> = Map::new();
    for row in table() {
        let described = operation(&row, schema_of, &mut schemas);
        let methods = paths.entry(row.path).or_insert_with(|| json!({}));
        methods[row.method] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "agar",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Try any change in an instant, isolated, copy-on-write copy of your \
                machine. Programs send the token as a bearer; a browser exchanges a link that works \
                once for a cookie. A POST may carry an Idempotency-Key.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "agar-7727" },
            },
        },
    })
}

fn operation(
    row: &Row,
    schema_of: &dyn Fn(&str) -> Option<Value>,
    schemas: &mut Map<String, Value>,
) -> Value {
    let status = row.status.to_string();
    let mut described = json!({
        "operationId": format!("{}{}", row.method, row.path.replace(['/', '{', '}', '.'], "_")),
        "summary": row.summary,
        "tags": [tag(row.path)],
        "parameters": parameters(row),
        "responses": {
            "default": {
                "description": "A refusal; its status follows from `code`.",
                "content": { "application/json": { "schema": reference("Error") } },
            },
        },
    });
    described["responses"][&status] = answer(row, schema_of, schemas);
    if let Some(body) = row.body {
        let name = keep(body(), schemas);
        described["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference(&name) } },
        });
    } else if row.method == "put" {
        described["requestBody"] = json!({
            "required": true,
            "content": { "application/octet-stream": {} },
        });
    }
    if matches!(row.path, "/" | "/healthz" | "/open" | "/assets/{name}") {
        described["security"] = json!([]);
    }
    described
}

fn tag(path: &str) -> &str {
    match path.split('/').nth(1).unwrap_or_default() {
        "api" => "seed",
        "v1" => path.split('/').nth(2).unwrap_or_default(),
        _ => "server",
    }
}

fn parameters(row: &Row) -> Vec<Value> {
    let open = row.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        let schema = match name {
            "run" => json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
            _ => json!({ "type": "string", "minLength": 1 }),
        };
        Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
    });
    let asked = row.query.iter().map(|name| {
        let (name, required) = match name.strip_suffix('!') {
            Some(name) => (name, true),
            None => (*name, false),
        };
        json!({ "name": name, "in": "query", "required": required, "schema": kind(row, name) })
    });
    open.chain(asked).collect()
}

/// What a word behind the question mark may be.
fn kind(row: &Row, name: &str) -> Value {
    match name {
        "all" | "gone" | "trash" | "force" | "describe" | "patch" | "outside" | "family"
        | "plain" => {
            json!({ "type": "boolean" })
        }
        "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 500 }),
        "rows" | "columns" => json!({ "type": "integer", "minimum": 1, "maximum": 1000 }),
        "from" | "tail" | "context" | "count" | "individual" | "depth" | "days" => {
            json!({ "type": "integer", "minimum": 0 })
        }
        "before" if row.path == "/v1/experiments" => json!({ "type": "integer" }),
        "before" => json!({ "type": "string", "format": "uuid" }),
        "after" if row.path == "/v1/sandboxes" => json!({ "type": "string", "format": "uuid" }),
        "after" if row.path == "/v1/usage" => json!({ "type": "integer", "minimum": 0 }),
        "east" => json!({ "type": "integer", "minimum": -840, "maximum": 840 }),
        "look" => json!({ "enum": ["changes", "disk", "usage", "record"] }),
        "order" => json!({ "enum": ["oldest", "newest"] }),
        "status" => json!({ "enum": ["running", "success", "partial", "failure"] }),
        // Several, separated by commas.
        "state" if row.path == "/v1/sandboxes" => json!({ "type": "string" }),
        "state" => json!({ "enum": ["open", "trying", "applied", "rejected"] }),
        _ => json!({ "type": "string" }),
    }
}

fn answer(
    row: &Row,
    schema_of: &dyn Fn(&str) -> Option<Value>,
    schemas: &mut Map<String, Value>,
) -> Value {
    let json_of = |schema: Value| {
        json!({
            "description": row.summary,
            "content": { "application/json": { "schema": schema } },
        })
    };
    match row.answer {
        Answer::Command(name, extra) => {
            let mut schema = schema_of(name).map_or_else(|| json!({ "type": "object" }), plain);
            for field in extra {
                schema["properties"][field] = json!({});
            }
            let name = format!("{name}-answer");
            let name = match extra {
                [] => name,
                _ => format!("{name}-with-{}", extra.join("-")),
            };
            schemas.insert(name.clone(), schema);
            json_of(reference(&name))
        }
        Answer::Own(shapes) => json_of(reference(&keep(shapes(), schemas))),
        Answer::Object => json_of(json!({ "type": "object" })),
        Answer::Stream => json!({
            "description": row.summary,
            "content": { "text/event-stream": {} },
        }),
        Answer::Other(kinds) => {
            let content: Map<String, Value> = kinds
                .iter()
                .map(|kind| ((*kind).to_owned(), json!({})))
                .collect();
            json!({ "description": row.summary, "content": content })
        }
        Answer::Nothing => json!({ "description": row.summary }),
    }
}

/// Keeps schemas by name; the name of the first.
fn keep(shapes: Shapes, schemas: &mut Map<String, Value>) -> String {
    let first = shapes.first().map(|(name, _)| name.clone());
    for (name, shape) in shapes {
        let value = serde_json::to_value(shape).unwrap_or_default();
        schemas.entry(name).or_insert(value);
    }
    first.unwrap_or_default()
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A schema as a part of another document.
fn plain(mut schema: Value) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn whole() -> Value {
        document(&|name| Some(json!({ "title": name, "type": "object", "properties": {} })))
    }

    /// Every `$ref` below a value.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (key, inner) in fields {
                    match inner.as_str().filter(|_| key == "$ref") {
                        Some(target) => drop(found.insert(target.to_owned())),
                        None => references(inner, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let whole = whole();
        let mut found = BTreeSet::new();
        references(&whole, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for target in found {
            let pointer = target.trim_start_matches('#');
            assert!(whole.pointer(pointer).is_some(), "{target}");
        }
    }

    #[test]
    fn every_route_has_a_name_of_its_own() {
        let rows = table();
        let whole = whole();
        let mut names = BTreeSet::new();
        for row in &rows {
            let operation = &whole["paths"][row.path][row.method];
            let name = operation["operationId"].as_str().unwrap().to_owned();
            assert!(names.insert(name), "{} {}", row.method, row.path);
        }
        assert_eq!(names.len(), rows.len());
    }

    #[test]
    fn every_endpoint_of_the_seed_is_there() {
        let whole = whole();
        for (method, path) in [
            ("post", "/api/sandbox/create"),
            ("get", "/api/sandbox/{id}/status"),
            ("get", "/api/sandbox/{id}/stream"),
            ("post", "/api/sandbox/{id}/execute"),
            ("post", "/api/sandbox/{id}/finalize"),
            ("get", "/api/memory/sandbox/{id}"),
            ("post", "/api/memory/graduate"),
            ("get", "/api/memory/lessons"),
            ("post", "/api/confidence/calculate"),
        ] {
            assert!(whole["paths"][path][method].is_object(), "{method} {path}");
        }
    }
}
