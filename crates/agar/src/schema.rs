//! The shape of every JSON answer, published.
//!
//! A schema is drawn from example answers rather than written beside the types: the examples are
//! values of the very types that are sent, so a field that is added, renamed or dropped shows up
//! here by itself, and `docs/reference/schema` no longer matches until it is generated again. A
//! field that is absent or null in one example and present in another is optional.

pub mod examples;

use serde_json::{Map, Value, json};

/// Names that have a schema: commands, and `error`.
pub fn names() -> impl Iterator<Item = &'static str> {
    examples::all().into_iter().map(|(name, _)| name)
}

/// The JSON schema of a command's answer.
pub fn of(name: &str) -> Option<Value> {
    let (name, values) = examples::all()
        .into_iter()
        .find(|(known, _)| *known == name)?;
    let mut schema = shape(&values.iter().collect::<Vec<_>>());
    if let Value::Object(fields) = &mut schema {
        let title = match name {
            "error" => "Any failure of a command with --json".to_owned(),
            command => format!("The answer of agar {command} --json"),
        };
        let mut first = Map::new();
        first.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        first.insert("title".to_owned(), json!(title));
        first.append(fields);
        schema = Value::Object(first);
    }
    Some(schema)
}

/// The shape that all these values have.
fn shape(values: &[&Value]) -> Value {
    if values.contains(&&json!(examples::ANYTHING)) {
        return json!({});
    }
    let mut types: Vec<&str> = values.iter().map(|value| type_of(value)).collect();
    types.sort_unstable();
    types.dedup();
    // Every whole number is a number.
    if types.contains(&"number") {
        types.retain(|name| *name != "integer");
    }
    let mut schema = Map::new();
    match types.as_slice() {
        // No example of what is inside: anything.
        [] => return json!({}),
        [only] => schema.insert("type".to_owned(), json!(only)),
        several => schema.insert("type".to_owned(), json!(several)),
    };
    if types.contains(&"object") {
        describe_object(values, &mut schema);
    }
    if types.contains(&"array") {
        let items: Vec<&Value> = values
            .iter()
            .filter_map(|v| v.as_array())
            .flatten()
            .collect();
        schema.insert("items".to_owned(), shape(&items));
    }
    Value::Object(schema)
}

fn describe_object(values: &[&Value], schema: &mut Map<String, Value>) {
    let objects: Vec<&Map<String, Value>> = values
        .iter()
        .filter_map(|value| value.as_object())
        .collect();
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in objects.iter().flat_map(|object| object.keys()) {
        if properties.contains_key(key) {
            continue;
        }
        let seen: Vec<&Value> = objects
            .iter()
            .filter_map(|object| object.get(key))
            .collect();
        if seen.len() == objects.len() {
            required.push(key.clone());
        }
        properties.insert(key.clone(), shape(&seen));
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Why a value does not have the shape of a schema, if it does not.
///
/// Enough of JSON Schema for the schemas made here: tests hold real answers against them.
pub fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    let types = schema.get("type")?;
    let allowed: Vec<&str> = match types {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let found = type_of(value);
    let fits = allowed.contains(&found) || (found == "integer" && allowed.contains(&"number"));
    if !fits {
        return Some(format!(
            "{found} where {} is expected",
            allowed.join(" or ")
        ));
    }
    match value {
        Value::Object(fields) => mismatch_in_object(schema, fields),
        Value::Array(items) => {
            let inner = schema.get("items")?;
            items
                .iter()
                .enumerate()
                .find_map(|(at, item)| Some(format!("[{at}] {}", mismatch(inner, item)?)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn mismatch_in_object(schema: &Value, fields: &Map<String, Value>) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required")?.as_array()?;
    let missing = required
        .iter()
        .filter_map(Value::as_str)
        .find(|&key| !fields.contains_key(key));
    if let Some(key) = missing {
        return Some(format!("{key} is missing"));
    }
    fields
        .iter()
        .find_map(|(key, value)| match properties.get(key) {
            Some(inner) => Some(format!("{key}: {}", mismatch(inner, value)?)),
            None => Some(format!("{key} is not in the schema")),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_may_be_absent_or_null_is_optional() {
        let (a, b) = (
            json!({"x": 1, "y": null}),
            json!({"x": 2, "y": "z", "w": []}),
        );
        let schema = shape(&[&a, &b]);
        assert_eq!(schema["required"], json!(["x", "y"]));
        assert_eq!(schema["properties"]["y"]["type"], json!(["null", "string"]));
        assert_eq!(mismatch(&schema, &json!({"x": 3, "y": null})), None);
        assert_eq!(
            mismatch(&schema, &json!({"x": "3", "y": null})).as_deref(),
            Some("x: string where integer is expected")
        );
        assert_eq!(
            mismatch(&schema, &json!({"x": 3})).as_deref(),
            Some("y is missing")
        );
    }

    #[test]
    fn every_example_fits_its_own_schema() {
        for (name, values) in examples::all() {
            let schema = of(name).unwrap();
            for value in values {
                assert_eq!(mismatch(&schema, &value), None, "{name}");
            }
        }
    }

    #[test]
    fn every_command_that_answers_has_a_schema() {
        let known: Vec<&str> = names().collect();
        for case in agar_engine::USE_CASES {
            assert!(known.contains(&case.command), "{}", case.command);
        }
    }
}
