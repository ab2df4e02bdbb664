" Vim syntax of text programs (dfg-lang(5)). Copy to ~/.vim/syntax/dfg.vim, and to ~/.vim/ftdetect/dfg.vim the line
"     autocmd BufNewFile,BufRead *.dfg setfiletype dfg
if exists('b:current_syntax')
  finish
endif

syntax keyword dfgDeclaration input param state output const target fn layer import as
syntax keyword dfgStatement by set assert on after yield next
syntax keyword dfgConditional if else case static
syntax keyword dfgRepeat loop parallel for in while with
syntax keyword dfgOperator and or not
syntax keyword dfgBoolean true false
syntax keyword dfgConstant nan inf none new training
syntax keyword dfgType f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 c64 c128 bool string resource variant
syntax keyword dfgType f4 f8e4m3 f8e4m3b f8e4m3z f8e5m2 f8e5m2z i2 i4 u2 u4 qi8 qi16 qi32 qu8 qu16
syntax keyword dfgType int float str dtype like
syntax match dfgOp '\<\u\w*\%(>\u\w*\)\?'
syntax match dfgFunction '\<\l\w*\ze('
syntax match dfgNumber '\<\d\+\%(\.\d\+\)\?\%([eE][-+]\?\d\+\)\?\>'
syntax region dfgString start='"' skip='\\.' end='"' oneline contains=dfgEscape
syntax match dfgEscape '\\\%([nrt0"\\]\|x\x\x\)' contained

highlight default link dfgDeclaration Keyword
highlight default link dfgStatement Statement
highlight default link dfgConditional Conditional
highlight default link dfgRepeat Repeat
highlight default link dfgOperator Operator
highlight default link dfgBoolean Boolean
highlight default link dfgConstant Constant
highlight default link dfgType Type
highlight default link dfgOp Special
highlight default link dfgFunction Function
highlight default link dfgNumber Number
highlight default link dfgString String
highlight default link dfgEscape SpecialChar
highlight default link dfgComment Comment

setlocal commentstring=#\ %s
let b:current_syntax = 'dfg'
