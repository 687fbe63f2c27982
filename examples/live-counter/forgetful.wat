;; A counter that cannot take up the state of the first: a swap to it fails, and nothing happens.
(module
  (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "schema") (result i32) (i32.const 2))
  (func (export "step") (param i32 i32) (result i64) (i64.const 0))
  (func (export "save") (result i64) (i64.const 0))
  (func (export "load") (param i32 i32 i32) (result i32) (i32.const 1)))
