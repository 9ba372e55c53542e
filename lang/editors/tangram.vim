" Vim syntax of Tangram (.tg). Word lists: tests/editors.py --update.
if exists("b:current_syntax")
  finish
endif

syntax keyword tangramKeyword and as else extern fn for if in let model not op or param rule
syntax keyword tangramKeyword ruleset use var where
syntax keyword tangramType Act DType Pad Pair bf16 bool f16 f32 f64 float i32 i64 int list
syntax keyword tangramConstant false none same true valid
syntax keyword tangramFunction abs acos acosh add argmax asin asinh atan atanh attention avg_pool2d
syntax keyword tangramFunction batch_norm broadcast cast ceil clip concat conv2d conv3d
syntax keyword tangramFunction conv_transpose2d cos cosh cumsum dim div dtype elu enlarge equal erf
syntax keyword tangramFunction exp expm1 eye floor full fused_map gather gelu grad greater
syntax keyword tangramFunction greater_equal hardswish identity iota layer_norm leaky_relu len less
syntax keyword tangramFunction less_equal log log1p logical_and logical_not logical_or matmul max
syntax keyword tangramFunction max_pool2d maximum merge_gconv min minimum mish mod mul neg
syntax keyword tangramFunction non_max_suppression not_equal ones pad params path pow prod rank
syntax keyword tangramFunction reduce_max reduce_mean reduce_min reduce_prod reduce_sum relu relu6
syntax keyword tangramFunction reshape resize round rsqrt scatter select shape sigmoid sign sin
syntax keyword tangramFunction sinh slice softmax softplus split sqrt sub sum tan tanh tensor top_k
syntax keyword tangramFunction transpose update windows winograd_conv2d winograd_weight zeros zip
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
