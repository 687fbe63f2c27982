//! JavaScript genomes: what they can do, what they cannot, and that nobody can tell where they run.

use crate::kit::incubator;
use agar_evolve::dish::{Birth, Source};
use agar_evolve::{
    Cell, CellError, Condition, Dish, DishSettings, Engines, Genome, GenomeError, Import,
    Incubator, Limits, Rules, Settings, Spec, Swap, SwapStep, Unwatched,
};
use agar_testkit::clock::FixedClock;
use std::sync::Arc;

const COUNTER: &str = r#"
const SCHEMA = 1;
let total = 0;
const step = (message) => { total += Number(message); return total; };
function save() { return { total }; }
function load(state, schema) {
  if (schema !== SCHEMA) throw new Error("a state of schema " + schema);
  total = JSON.parse(state).total;
}
"#;

fn spec() -> Spec {
    Spec {
        limits: Limits {
            instructions: 60_000_000,
            output_bytes: 4_096,
            ..Limits::default()
        },
        ..Spec::default()
    }
}

fn script(source: &str) -> Genome {
    Genome::from_javascript(source, &Rules::default()).unwrap()
}

fn cell(source: &str) -> Cell {
    incubator().create(&script(source), spec()).unwrap()
}

/// Every engine that this build has.
pub(crate) fn incubators() -> Vec<Incubator> {
    let mut engines = vec![Engines::Light];
    if cfg!(feature = "native") {
        engines.push(Engines::Heavy);
    }
    let incubator = |engines| {
        let settings = Settings {
            engines,
            ..Settings::default()
        };
        Incubator::new(&settings, Arc::new(FixedClock::default()))
    };
    engines.into_iter().map(incubator).collect()
}

fn text(answer: Result<Vec<u8>, CellError>) -> String {
    String::from_utf8(answer.unwrap()).unwrap()
}

#[test]
fn a_script_answers_and_keeps_its_state() {
    let mut counter = cell(COUNTER);
    assert_eq!(text(counter.step(b"5")), "5");
    assert_eq!(text(counter.step(b"-7")), "-2");
    assert_eq!(counter.save().unwrap().bytes, br#"{"total":-2}"#);
    assert_eq!(counter.save().unwrap().schema, 1);
    // What it does not define it cannot be asked for.
    let none = counter.evaluate(b"x").unwrap_err();
    assert!(matches!(none, CellError::NoFunction { .. }), "{none:?}");
    counter.restart().unwrap();
    assert_eq!(text(counter.step(b"1")), "1");
}

#[test]
fn answers_are_text_or_json_and_promises_are_waited_for() {
    for (expression, answer) in [
        ("input + '!'", "häl\u{0}lo!"),
        ("[1, { a: null }]", r#"[1,{"a":null}]"#),
        ("undefined", ""),
        ("1 / 3", "0.3333333333333333"),
        ("2n ** 70n", "1180591620717411303424"),
        ("Promise.resolve(input.length)", "6"),
        (
            "(async () => { await 0; await 0; return 'later'; })()",
            "later",
        ),
    ] {
        let source = format!("function evaluate(input) {{ return {expression}; }}");
        assert_eq!(
            text(cell(&source).evaluate("häl\u{0}lo".as_bytes())),
            answer,
            "{expression}"
        );
    }
}

#[test]
fn the_state_comes_along_when_the_source_is_swapped() {
    let mut counter = cell(COUNTER);
    counter.step(b"40").unwrap();
    let twice = COUNTER.replace("Number(message)", "2 * Number(message)");
    counter.swap(Swap::to(script(&twice), "twice")).unwrap();
    assert_eq!(text(counter.step(b"1")), "42");
    // A state of another form is brought into the new one by `migrate`, or refused by `load`.
    let two = twice.replace("SCHEMA = 1", "SCHEMA = 2");
    let refused = counter.swap(Swap::to(script(&two), "")).unwrap_err();
    assert_eq!(refused.step, SwapStep::Load);
    let words = "Error: a state of schema 1".to_owned();
    assert_eq!(refused.source, CellError::Refused(words));
    let migrating = format!(
        "{two} function migrate(state, schema) {{ return {{ total: 1000 * schema + JSON.parse(state).total }}; }}"
    );
    counter.swap(Swap::to(script(&migrating), "")).unwrap();
    assert_eq!(text(counter.step(b"0")), "1042");
    // Whatever is wrong with the next one, this one goes on.
    for (source, step) in [
        ("this is not javascript", SwapStep::Hatch),
        ("for (;;);", SwapStep::Hatch),
        ("throw new Error('no')", SwapStep::Hatch),
        ("function load() { for (;;); }", SwapStep::Load),
        (
            "const SCHEMA = 3; function load() {} function migrate() { throw 1; }",
            SwapStep::Migrate,
        ),
    ] {
        let failed = counter.swap(Swap::to(script(source), "")).unwrap_err();
        assert_eq!(failed.step, step, "{source}: {failed:?}");
        assert_eq!(text(counter.step(b"0")), "1042", "{source}");
    }
}

#[test]
fn a_dish_reloads_source_and_the_individual_goes_on() {
    let dish = Dish::new(incubator(), DishSettings::default(), Arc::new(Unwatched));
    dish.create("bot", Source::JavaScript(COUNTER), Birth::default())
        .unwrap();
    dish.run("bot", |cell| cell.step(b"3")).unwrap();
    let negative = COUNTER.replace("+= Number", "-= Number");
    dish.hot_reload_source("bot", Source::JavaScript(&negative))
        .unwrap();
    let answer = dish.run("bot", |cell| cell.step(b"1")).unwrap();
    assert_eq!(answer, b"2");
}

#[test]
fn a_sleeping_script_takes_little_and_wakes_as_it_was() {
    for incubator in incubators() {
        let mut counter = incubator.create(&script(COUNTER), spec()).unwrap();
        counter.step(b"7").unwrap();
        counter.hibernate().unwrap();
        assert_eq!(counter.condition(), Condition::Asleep);
        // Only what differs from birth is kept.
        let kept = counter.info().memory;
        assert!(kept < 200 << 10, "{kept}");
        assert_eq!(text(counter.step(b"1")), "8");
    }
}

/// Counts, states and answers, on every engine.
#[test]
fn nobody_can_tell_where_a_script_runs() {
    let source = r#"
        const seen = [];
        function evaluate(input) {
          seen.push(Math.random(), Math.sqrt(seen.length) / 0.1, input.split("").sort().join(""));
          agar.emit("seen", seen.length);
          return { seen, fuel: agar.fuelLeft(), nan: [NaN * 2, -NaN].map(String) };
        }"#;
    let lives = incubators().into_iter().map(|incubator| {
        let mut cell = incubator.create(&script(source), spec()).unwrap();
        let mut told = Vec::new();
        for input in ["zebra", "", "ÄÖ"] {
            told.push(text(cell.evaluate(input.as_bytes())));
            told.push(cell.metrics().last_instructions.to_string());
            told.push(format!("{:?}", cell.artifacts()));
        }
        cell.hibernate().unwrap();
        (told, cell.fingerprint())
    });
    let lives: Vec<_> = lives.collect();
    assert!(lives.windows(2).all(|pair| pair[0] == pair[1]), "{lives:?}");
}

#[test]
fn there_is_no_time_and_chance_is_the_cells_own() {
    let source = r"
        const early = Math.random();
        function evaluate() {
          return [early, Math.random(), Date.now(), new Date().getTimezoneOffset(), typeof performance];
        }";
    let ask = |seed| {
        let spec = Spec { seed, ..spec() };
        let mut cell = incubator().create(&script(source), spec).unwrap();
        text(cell.evaluate(b""))
    };
    assert_eq!(ask(1), ask(1));
    assert!(ask(1).ends_with(r#",0,0,"undefined"]"#), "{}", ask(1));
    let parts = |told: &str| told.split(',').map(str::to_owned).collect::<Vec<_>>();
    let (one, two) = (parts(&ask(1)), parts(&ask(2)));
    // The seed is not there yet when the source is evaluated: every cell begins alike.
    assert_eq!(one[0], two[0]);
    assert_ne!(one[1], two[1]);
}

#[test]
fn the_host_offers_what_the_rules_allow() {
    let source = "function evaluate(at) { return agar.input(at) ?? 'none'; }";
    let cases: Arc<[Vec<u8>]> = Arc::from(vec![b"zero".to_vec(), b"one".to_vec()]);
    let given = Spec {
        cases: Some(cases),
        ..spec()
    };
    let mut cell = incubator().create(&script(source), given).unwrap();
    assert_eq!(text(cell.evaluate(b"1")), "one");
    assert_eq!(text(cell.evaluate(b"2")), "none");
    let rules = Rules {
        imports: vec![Import::Emit],
        ..Rules::default()
    };
    for act in ["Math.random()", "agar.input(0)", "agar.fuelLeft()"] {
        let source = format!("function evaluate() {{ return {act}; }}");
        let genome = Genome::from_javascript(&source, &rules).unwrap();
        let mut cell = incubator().create(&genome, spec()).unwrap();
        let refused = cell.evaluate(b"").unwrap_err();
        let allowed = format!("{refused:?}").contains("is not allowed by the rules");
        assert!(allowed, "{refused:?}");
    }
}

#[test]
fn a_source_is_held_against_the_rules() {
    let refused = |rules: Rules| Genome::from_javascript("1", &rules).unwrap_err();
    let small = Rules {
        module_bytes_max: 0,
        ..Rules::default()
    };
    assert!(matches!(refused(small), GenomeError::TooLarge { .. }));
    assert!(matches!(
        refused(Rules::tiny()),
        GenomeError::TooLarge { .. }
    ));
    let straight = Rules {
        denied: agar_evolve::Operations::NONE.with(agar_evolve::Operation::Loop),
        ..Rules::default()
    };
    assert!(matches!(refused(straight), GenomeError::Denied { .. }));
}

#[test]
fn names_follow_the_source() {
    assert_eq!(script("1").id(), script("1").id());
    assert_ne!(script("1").id(), script("2").id());
    assert_eq!(script("1").wasm(), b"1");
}

#[test]
fn a_script_that_was_written_down_comes_back_as_it_was() {
    let incubator = incubator();
    let mut counter = incubator.create(&script(COUNTER), spec()).unwrap();
    counter.step(b"7").unwrap();
    let dormant = counter.dormant().unwrap();
    let mut revived = incubator.revive(&dormant, &Rules::default()).unwrap();
    let none = revived.evaluate(b"x").unwrap_err();
    assert!(matches!(none, CellError::NoFunction { .. }), "{none:?}");
    assert_eq!(text(revived.step(b"1")), "8");
}
