//! The same failure in another path, line, process or time is the same lesson; another failure is
//! another one. Logs as the tool chains write them.

use agar_memory::fingerprints;

/// A tool chain, one failure as seen on two machines, and another failure.
const LOGS: &[(&str, &str, &str, &str)] = &[
    (
        "cargo",
        "   Compiling shop v0.1.0 (/home/ann/src/shop)\nerror[E0277]: the trait bound `Cart: Serialize` is not satisfied\n  --> src/cart.rs:41:18\n   |\n41 |     to_string(&cart)\n\nFor more information about this error, try `rustc --explain E0277`.\nerror: could not compile `shop` (lib) due to 1 previous error\n",
        "   Compiling shop v0.1.0 (/build/7/shop)\n\u{1b}[1m\u{1b}[38;5;9merror[E0277]\u{1b}[0m\u{1b}[1m: the trait bound `Order: Serialize` is not satisfied\u{1b}[0m\n  --> src/order.rs:7:3\nerror: could not compile `shop` (lib) due to 2 previous errors; 1 warning emitted\n",
        "error[E0308]: mismatched types\n  --> src/cart.rs:41:18\n",
    ),
    (
        "cargo test",
        "thread 'tests::pays' (2311) panicked at src/pay.rs:88:9:\ncalled `Result::unwrap()` on an `Err` value: ConnectionRefused { port: 5432 }\nnote: run with `RUST_BACKTRACE=1`\n",
        "thread 'tests::pays_again' (91) panicked at /tmp/b/src/pay.rs:12:5:\ncalled `Result::unwrap()` on an `Err` value: ConnectionRefused { port: 15999 }\n",
        "thread 'tests::pays' (2311) panicked at src/pay.rs:88:9:\nindex out of bounds: the len is 3 but the index is 7\n",
    ),
    (
        "pytest",
        "    def test_total():\n>       assert total([]) == 0\nE       TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'\n\nshop/cart.py:17: TypeError\n=== short test summary info ===\nFAILED tests/test_cart.py::test_total - TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'\n=== 1 failed, 31 passed in 0.42s ===\n",
        "E       TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'\n\n/srv/ci/9/shop/cart.py:231: TypeError\n=== 1 failed, 31 passed in 3.91s ===\n",
        "E   ModuleNotFoundError: No module named 'yaml'\n",
    ),
    (
        "npm",
        "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! Found: react@17.0.2\nnpm ERR! A complete log of this run can be found in: /home/a/.npm/_logs/2026-11-15T10_01_44_000Z-debug-0.log\n",
        "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! Found: react@18.3.1\nnpm ERR! A complete log of this run can be found in: /home/ana/.npm/_logs/2026-12-01T00_00_00_000Z-debug-0.log\n",
        "npm ERR! enoent ENOENT: no such file or directory, open '/a/package.json'\n",
    ),
    (
        "jest",
        "  ● cart › adds\n\n    TypeError: Cannot read properties of undefined (reading 'price')\n\n      12 |   const sum = items\n    > 13 |     .map(i => i.item.price)\n      at map (src/cart.js:13:22)\nTests:       1 failed, 20 passed, 21 total\nTime:        2.311 s\n",
        "  ● order › refunds\n\n    TypeError: Cannot read properties of undefined (reading 'price')\n\n      at map (/w/ci/src/order.js:90:2)\nTests:       1 failed, 4 passed, 5 total\nTime:        0.9 s\n",
        "    ReferenceError: fetch is not defined\n",
    ),
    (
        "tsc",
        "src/cart.ts(12,5): error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.\n",
        "\u{1b}[96mweb/src/order.ts\u{1b}[0m:\u{1b}[93m7\u{1b}[0m:\u{1b}[93m31\u{1b}[0m - error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.\n",
        "src/cart.ts(12,5): error TS2307: Cannot find module 'left-pad' or its corresponding type declarations.\n",
    ),
    (
        "go",
        "# example.org/shop\n./cart.go:12:3: undefined: vouchers.Apply\n",
        "# example.org/shop\ninternal/pay/order.go:120:31: undefined: vouchers.Apply\n",
        "panic: runtime error: index out of range [5] with length 3\n",
    ),
    (
        "javac and maven",
        "[INFO] Compiling 12 source files to /home/a/shop/target/classes\n[ERROR] /home/a/shop/src/main/java/Cart.java:[12,5] cannot find symbol\n[ERROR]   symbol:   method total()\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11.0:compile (default-compile) on project shop: Compilation failure\n",
        "[ERROR] /builds/88/src/main/java/Order.java:[207,41] cannot find symbol\n[ERROR]   symbol:   method total()\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.13.0:compile\n",
        "Exception in thread \"main\" java.lang.IllegalStateException: no datasource is configured\n",
    ),
    (
        "gcc and make",
        "gcc -O2 -c cart.c\ncart.c: In function 'total':\ncart.c:12:5: error: 'vouchers' undeclared (first use in this function)\nmake: *** [Makefile:14: cart.o] Error 1\n",
        "/usr/src/w/order.c:99:17: error: 'vouchers' undeclared (first use in this function)\nmake[2]: *** [Makefile:31: order.o] Error 1\n",
        "/usr/bin/ld: cart.o: in function `main':\ncart.c:(.text+0x15): undefined reference to `apply_voucher'\ncollect2: error: ld returned 1 exit status\n",
    ),
    (
        "psql",
        "psql:schema.sql:12: ERROR:  invalid input syntax for type date: \"15.11.2026\"\n",
        "psql:/tmp/m/0042.sql:7: ERROR:  invalid input syntax for type date: \"3/4/99\"\n",
        "ERROR: relation \"orders\" does not exist\n",
    ),
];

#[test]
fn the_same_failure_elsewhere_is_the_same_fingerprint() {
    for (tool, here, elsewhere, _) in LOGS {
        let (here, elsewhere) = (fingerprints(here), fingerprints(elsewhere));
        assert!(!here.is_empty(), "{tool}: nothing found");
        assert_eq!(here, elsewhere, "{tool}");
    }
}

#[test]
fn another_failure_is_another_fingerprint() {
    for (tool, here, _, other) in LOGS {
        let (here, other) = (fingerprints(here), fingerprints(other));
        assert!(!other.is_empty(), "{tool}: nothing found");
        assert!(
            other.iter().all(|it| !here.contains(it)),
            "{tool}: {here:?} {other:?}"
        );
    }
}

#[test]
fn output_without_an_error_has_no_fingerprint() {
    for quiet in [
        "   Compiling error-chain v0.12.4\n    Finished `test` profile in 2.31s\ntest errors::kept ... ok\n",
        "added 214 packages in 3s\nfound 0 vulnerabilities\n",
        "ok  \texample.org/shop\t0.012s\n",
        "0 errors, 0 warnings\n",
        "E       assert 10.0 == 90\nE        +  where 10.0 = discount([(100, 1)], 10)\nE         Full diff:\nE         - {'price': 'total'}\n",
    ] {
        assert_eq!(fingerprints(quiet), [], "{quiet}");
    }
}
