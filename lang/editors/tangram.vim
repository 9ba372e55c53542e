" Vim syntax of Tangram (.tg). Word lists: tests/editors.py --update.
if exists("b:current_syntax")
  finish
endif

syntax keyword tangramKeyword and as else extern fn for if in let model not op or param rule
syntax keyword tangramKeyword ruleset use var where
syntax keyword tangramType Act DType Pad Pair bf16 bool f16 f32 float i32 i64 int list
syntax keyword tangramConstant false none same true valid
syntax keyword tangramFunction abs add argmax avg_pool2d batch_norm cast ceil clip concat conv2d
syntax keyword tangramFunction cos cumsum dim div dtype elu enlarge equal erf exp expm1 eye floor
syntax keyword tangramFunction full fused_map gather gelu greater greater_equal hardswish identity
syntax keyword tangramFunction iota layer_norm len less less_equal log log1p logical_and
syntax keyword tangramFunction logical_not logical_or matmul max max_pool2d maximum merge_gconv min
syntax keyword tangramFunction minimum mish mod mul neg not_equal ones pad pow prod rank reduce_max
syntax keyword tangramFunction reduce_mean reduce_sum relu relu6 reshape rsqrt select shape sigmoid
syntax keyword tangramFunction sign sin slice softmax softplus split sqrt sub sum tanh tensor
syntax keyword tangramFunction transpose winograd_conv2d winograd_weight zeros
syntax match tangramOperator /\.\.\.\|<=>\|!=\|\*\*\|->\|\.\.\|\/\/\|<=\|==\|=>\|>=\|%\|\*\|+\|-\|\/\|<\|=\|>\|@/

syntax match tangramNumber /\<[0-9]\+\(\.[0-9]\+\)\?\([eE][+-]\?[0-9]\+\)\?\>/
syntax region tangramString start=/"/ skip=/\\./ end=/"/ oneline
syntax keyword tangramTodo TODO contained
syntax match tangramComment /#.*$/ contains=tangramTodo,@Spell
syntax match tangramDocumentation /##.*$/ contains=@Spell

setlocal commentstring=#\ %s

highlight default link tangramKeyword Keyword
highlight default link tangramType Type
highlight default link tangramConstant Constant
highlight default link tangramFunction Function
highlight default link tangramOperator Operator
highlight default link tangramNumber Number
highlight default link tangramString String
highlight default link tangramTodo Todo
highlight default link tangramComment Comment
highlight default link tangramDocumentation SpecialComment

let b:current_syntax = "tangram"
