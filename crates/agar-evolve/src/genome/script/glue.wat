;; Makes QuickJS a genome: the host's functions for its imports, the exports of a genome on top.
;;
;; Linked with `quickjs.wasm` by `link.rs`. Imports from `quickjs` are what that module exports, and
;; the exports named like its imports are what it gets. A value of JavaScript is a handle: the
;; address of a box that belongs to whoever was given it, until `qjs_free_value`.
(module
  (import "agar" "input" (func $input (param i32 i32 i32) (result i32)))
  (import "agar" "emit" (func $emit (param i32 i32 i32 i32)))
  (import "agar" "random" (func $random (result i64)))
  (import "agar" "fuel_left" (func $fuel_left (result i64)))
  (import "quickjs" "_initialize" (func $initialize))
  (import "quickjs" "qjs_init2" (func $init_runtime (param i32) (result i32)))
  (import "quickjs" "qjs_set_memory_limit" (func $set_memory_limit (param i32)))
  (import "quickjs" "qjs_set_max_stack_size" (func $set_stack_size (param i32)))
  (import "quickjs" "qjs_run_gc" (func $collect))
  (import "quickjs" "qjs_eval" (func $eval (param i32 i32 i32 i32) (result i32)))
  (import "quickjs" "qjs_call" (func $qjs_call (param i32 i32 i32 i32) (result i32)))
  (import "quickjs" "qjs_new_host_function" (func $new_function (param i32 i32 i32) (result i32)))
  (import "quickjs" "qjs_new_string" (func $new_string (param i32 i32) (result i32)))
  (import "quickjs" "qjs_new_number" (func $new_number (param f64) (result i32)))
  (import "quickjs" "qjs_get_undefined" (func $undefined (result i32)))
  (import "quickjs" "qjs_get_float64" (func $number (param i32) (result f64)))
  (import "quickjs" "qjs_get_string_len" (func $c_string (param i32 i32) (result i32)))
  (import "quickjs" "qjs_free_cstring" (func $free_c_string (param i32)))
  (import "quickjs" "qjs_free_value" (func $free (param i32)))
  (import "quickjs" "qjs_is_exception" (func $is_exception (param i32) (result i32)))
  (import "quickjs" "qjs_get_exception" (func $take_exception (result i32)))
  (import "quickjs" "qjs_is_promise" (func $is_promise (param i32) (result i32)))
  (import "quickjs" "qjs_promise_state" (func $promise_state (param i32) (result i32)))
  (import "quickjs" "qjs_promise_result" (func $promise_result (param i32) (result i32)))
  (import "quickjs" "qjs_is_job_pending" (func $is_job_pending (result i32)))
  (import "quickjs" "qjs_execute_pending_job" (func $execute_job (result i32)))
  (import "quickjs" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "quickjs" "wasm_free" (func $free_bytes (param i32)))
  (import "quickjs" "memory" (memory 1))

  ;; The prelude's function: what to do, with what, and a schema.
  (global $serve (mut i32) (i32.const 0))
  ;; What `alloc` gave out, and the text that the last answer points at.
  (global $inbox (mut i32) (i32.const 0))
  (global $outbox (mut i32) (i32.const 0))
  ;; Sixteen bytes for arguments and lengths.
  (global $scratch (mut i32) (i32.const 0))
  ;; What `boot` was told: four letters, the name of the file, two sentences.
  (global $texts (mut i32) (i32.const 0))
  (global $schema (mut i32) (i32.const 0))
  (global $why (mut i64) (i64.const 0))

  ;; ---- what QuickJS asks of its host ----

  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_interrupt") (result i32) (i32.const 0))
  (func (export "host_promise_rejection") (param i32 i32 i32)
    (call $free (local.get 0)) (call $free (local.get 1)))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))
  ;; It is always the first moment of 1970.
  (func (export "clock_time_get") (param i32 i64 i32) (result i32)
    (i64.store (local.get 2) (i64.const 0)) (i32.const 0))
  ;; There are no files: error 8 is "bad file descriptor".
  (func (export "fd_close") (param i32) (result i32) (i32.const 8))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_write") (param i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "random_get") (param i32 i32) (result i32)
    (memory.fill (local.get 0) (i32.const 0) (local.get 1)) (i32.const 0))

  ;; One of the functions that the prelude was given, by the letter that is its name. Arguments
  ;; belong to the caller; zero says that an exception was thrown.
  (func (export "host_call")
    (param $name i32) (param $length i32) (param $this i32) (param $count i32) (param $arguments i32)
    (result i32)
    (local $letter i32)
    (local.set $letter (i32.load8_u (local.get $name)))
    (if (i32.eq (local.get $letter) (i32.const 0x72)) ;; r
      (then (return (call $new_number (f64.mul
        (f64.convert_i64_u (i64.shr_u (call $random) (i64.const 11)))
        (f64.const 0x1p-53))))))
    (if (i32.eq (local.get $letter) (i32.const 0x66)) ;; f
      (then (return (call $new_number (f64.convert_i64_u (call $fuel_left))))))
    (if (i32.eq (local.get $letter) (i32.const 0x65)) ;; e
      (then (return (call $emit_strings
        (i32.load (local.get $arguments))
        (i32.load offset=4 (local.get $arguments))))))
    (call $case (i32.trunc_sat_f64_u (call $number (i32.load (local.get $arguments))))))

  (func $emit_strings (param $key i32) (param $value i32) (result i32)
    (local $key_at i32) (local $key_length i32) (local $value_at i32)
    (local.set $key_at (call $c_string (local.get $key) (global.get $scratch)))
    (if (i32.eqz (local.get $key_at)) (then (return (i32.const 0))))
    (local.set $key_length (i32.load (global.get $scratch)))
    (local.set $value_at (call $c_string (local.get $value) (global.get $scratch)))
    (if (i32.eqz (local.get $value_at))
      (then (call $free_c_string (local.get $key_at)) (return (i32.const 0))))
    (call $emit
      (local.get $key_at) (local.get $key_length)
      (local.get $value_at) (i32.load (global.get $scratch)))
    (call $free_c_string (local.get $key_at))
    (call $free_c_string (local.get $value_at))
    (call $undefined))

  (func $case (param $index i32) (result i32)
    (local $length i32) (local $at i32) (local $text i32)
    (local.set $length (call $input (local.get $index) (i32.const 0) (i32.const 0)))
    (if (i32.lt_s (local.get $length) (i32.const 0)) (then (return (call $undefined))))
    (local.set $at (call $malloc (i32.add (local.get $length) (i32.const 1))))
    (if (i32.eqz (local.get $at)) (then (return (call $undefined))))
    (drop (call $input (local.get $index) (local.get $at) (local.get $length)))
    (local.set $text (call $new_string (local.get $at) (local.get $length)))
    (call $free_bytes (local.get $at))
    (local.get $text))

  ;; ---- what a genome offers ----

  (func $forget
    (call $free_bytes (global.get $inbox))
    (global.set $inbox (i32.const 0)))

  ;; One byte more than asked: source must end in a zero.
  (func (export "alloc") (param $length i32) (result i32)
    (call $forget)
    (global.set $inbox (call $malloc (i32.add (local.get $length) (i32.const 1))))
    (if (i32.eqz (global.get $inbox)) (then (return (i32.const -1))))
    (i32.store8 (i32.add (global.get $inbox) (local.get $length)) (i32.const 0))
    (global.get $inbox))

  ;; Everything but `performance`, which is about time.
  (func (export "begin") (result i32)
    (call $initialize)
    (call $init_runtime (i32.const 0xfffffbff)))

  ;; Evaluates the prelude and gives it its functions. The bytes stay: texts are read from them.
  (func (export "boot") (param $at i32) (param $length i32) (result i32)
    (local $prelude i32)
    (global.set $texts (local.get $at))
    (global.set $inbox (i32.const 0))
    (global.set $scratch (call $malloc (i32.const 16)))
    ;; The stack has a mebibyte, below which there is nothing.
    (call $set_stack_size (i32.const 0xf0000))
    (local.set $prelude (call $eval
      (i32.add (local.get $at) (i32.const 49)) (i32.sub (local.get $length) (i32.const 49))
      (i32.add (local.get $at) (i32.const 4)) (i32.const 0)))
    (i32.store (global.get $scratch) (call $new_function (local.get $at) (i32.const 1) (i32.const 0)))
    (i32.store offset=4 (global.get $scratch)
      (call $new_function (i32.add (local.get $at) (i32.const 1)) (i32.const 1) (i32.const 0)))
    (i32.store offset=8 (global.get $scratch)
      (call $new_function (i32.add (local.get $at) (i32.const 2)) (i32.const 1) (i32.const 0)))
    (i32.store offset=12 (global.get $scratch)
      (call $new_function (i32.add (local.get $at) (i32.const 3)) (i32.const 1) (i32.const 0)))
    (global.set $serve
      (call $qjs_call (local.get $prelude) (call $undefined) (i32.const 4) (global.get $scratch)))
    (call $collect)
    (call $is_exception (global.get $serve)))

  ;; Evaluates the genome's source within so much memory. Answers which functions it has, a bit each.
  (func (export "source")
    (param $at i32) (param $length i32) (param $memory i32) (param $allowed i32)
    (result i64)
    (local $said i32)
    (call $set_memory_limit (local.get $memory))
    (call $free (call $do (i32.const 2)
      (call $new_number (f64.convert_i32_u (local.get $allowed))) (i32.const 0)))
    (local.set $said (call $eval
      (local.get $at) (local.get $length)
      (i32.add (global.get $texts) (i32.const 4)) (i32.const 0)))
    (call $forget)
    (if (call $is_exception (local.get $said))
      (then (call $free (local.get $said)) (return (call $refuse (call $take_exception)))))
    (call $free (local.get $said))
    (if (call $work_off) (then (return (call $refuse (call $take_exception)))))
    (local.set $said (call $do (i32.const 3) (call $undefined) (i32.const 0)))
    (if (call $is_exception (local.get $said))
      (then (call $free (local.get $said)) (return (call $refuse (call $take_exception)))))
    (global.set $schema (call $integer (call $do (i32.const 4) (call $undefined) (i32.const 0))))
    (i64.extend_i32_u (call $integer (local.get $said))))

  (func (export "init") (param i32 i32) (result i32)
    (call $heed (call $ask (i32.const 5) (local.get 0) (local.get 1) (i32.const 0))))
  (func (export "evaluate") (param i32 i32) (result i64)
    (call $ask (i32.const 6) (local.get 0) (local.get 1) (i32.const 0)))
  (func (export "step") (param i32 i32) (result i64)
    (call $ask (i32.const 7) (local.get 0) (local.get 1) (i32.const 0)))
  (func (export "save") (result i64)
    (call $settle (call $do (i32.const 8) (call $undefined) (i32.const 0))))
  (func (export "load") (param i32 i32 i32) (result i32)
    (call $heed (call $ask (i32.const 9) (local.get 0) (local.get 1) (local.get 2))))
  (func (export "migrate") (param i32 i32 i32) (result i64)
    (call $ask (i32.const 10) (local.get 0) (local.get 1) (local.get 2)))
  (func (export "schema") (result i32) (global.get $schema))
  ;; The words for the last no.
  (func (export "why") (result i64) (global.get $why))

  ;; ---- between the two ----

  ;; Has the prelude do something with a value, which it takes over.
  (func $do (param $what i32) (param $value i32) (param $schema i32) (result i32)
    (local $number i32) (local $extra i32) (local $this i32) (local $said i32)
    (local.set $number (call $new_number (f64.convert_i32_u (local.get $what))))
    (local.set $extra (call $new_number (f64.convert_i32_u (local.get $schema))))
    (local.set $this (call $undefined))
    (i32.store (global.get $scratch) (local.get $number))
    (i32.store offset=4 (global.get $scratch) (local.get $value))
    (i32.store offset=8 (global.get $scratch) (local.get $extra))
    (local.set $said (call $qjs_call
      (global.get $serve) (local.get $this) (i32.const 3) (global.get $scratch)))
    (call $free (local.get $this))
    (call $free (local.get $extra))
    (call $free (local.get $value))
    (call $free (local.get $number))
    (local.get $said))

  (func $integer (param $value i32) (result i32)
    (i32.trunc_sat_f64_u (call $number (local.get $value)))
    (call $free (local.get $value)))

  (func $ask (param $verb i32) (param $at i32) (param $length i32) (param $schema i32) (result i64)
    (local $text i32)
    (local.set $text (call $new_string (local.get $at) (local.get $length)))
    (call $forget)
    (if (call $is_exception (local.get $text))
      (then (call $free (local.get $text)) (return (call $refuse (call $take_exception)))))
    (call $settle (call $do (local.get $verb) (local.get $text) (local.get $schema))))

  ;; A no is remembered with its words.
  (func $heed (param $answer i64) (result i32)
    (global.set $why (local.get $answer))
    (i64.lt_s (local.get $answer) (i64.const 0)))

  ;; Does what was put off (`then`, `await`); one if that fails.
  (func $work_off (result i32)
    (loop $again
      (if (call $is_job_pending)
        (then
          (br_if $again (i32.ge_s (call $execute_job) (i32.const 0)))
          (return (i32.const 1)))))
    (i32.const 0))

  ;; The answer that a value stands for; a promise stands for what it came to.
  (func $settle (param $said i32) (result i64)
    (local $promise i32) (local $state i32)
    (if (call $is_exception (local.get $said))
      (then (call $free (local.get $said)) (return (call $refuse (call $take_exception)))))
    (if (call $work_off)
      (then (call $free (local.get $said)) (return (call $refuse (call $take_exception)))))
    (if (call $is_promise (local.get $said))
      (then
        (local.set $promise (local.get $said))
        (local.set $state (call $promise_state (local.get $promise)))
        (local.set $said (call $promise_result (local.get $promise)))
        (call $free (local.get $promise))
        (if (i32.eqz (local.get $state))
          (then
            (call $free (local.get $said))
            (return (call $refuse
              (call $new_string (i32.add (global.get $texts) (i32.const 24)) (i32.const 25))))))
        (if (i32.eq (local.get $state) (i32.const 2))
          (then (return (call $refuse (local.get $said)))))))
    (local.set $said (call $do (i32.const 0) (local.get $said) (i32.const 0)))
    (if (call $is_exception (local.get $said))
      (then (call $free (local.get $said)) (return (call $refuse (call $take_exception)))))
    (call $point (local.get $said)))

  ;; Where the text of a value lies. Without memory for it, that is what is said.
  (func $point (param $value i32) (result i64)
    (local $at i32)
    (local.set $at (call $c_string (local.get $value) (global.get $scratch)))
    (call $free (local.get $value))
    (if (i32.eqz (local.get $at)) (then (return (call $no_memory))))
    (if (global.get $outbox) (then (call $free_c_string (global.get $outbox))))
    (global.set $outbox (local.get $at))
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.load32_u (global.get $scratch))))

  (func $refuse (param $thrown i32) (result i64)
    (local $words i32)
    (local.set $words (call $do (i32.const 1) (local.get $thrown) (i32.const 0)))
    (if (call $is_exception (local.get $words))
      (then (call $free (local.get $words)) (return (call $no_memory))))
    (i64.or (i64.const 0x8000000000000000) (call $point (local.get $words))))

  (func $no_memory (result i64)
    (call $free (call $take_exception))
    (i64.or
      (i64.const 0x800000000000000d)
      (i64.shl (i64.extend_i32_u (i32.add (global.get $texts) (i32.const 11))) (i64.const 32)))))
