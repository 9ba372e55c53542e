/* The grammar. Actions only build the tree; syntax_error.cpp has the error messages. Lists are
   left-recursive, so the parser's stack is bounded by the nesting that insert_line_ends allows. Error
   recovery has two points, a statement and a declaration: on an error the remainder of it is skipped
   (TokenCursor::skip_statement finds its end, because brackets match), so that one mistake causes
   one message and does not affect the next statement. */
%require "3.8"
%language "c++"
%skeleton "lalr1.cc"
%expect 0
%define api.namespace {tg}
%define api.parser.class {Grammar}
%define api.value.type variant
%define api.value.automove
%define api.location.type {tg::Span}
%define parse.error custom
%define parse.lac full
%locations
%param { tg::TokenCursor& cursor }
%parse-param { tg::AstBuilder& build }

%code requires {
#include "lang/syntax/ast_builder.h"
#include "lang/syntax/token_cursor.h"
}

%code {
// An empty construct has the position of the end of the previous one.
#define YYLLOC_DEFAULT(current, rhs, n)                                                            \
  do {                                                                                             \
    (current) = YYRHSLOC(rhs, (n) ? 1 : 0);                                                        \
    if (n) (current).end = YYRHSLOC(rhs, n).end;                                                   \
    else (current).begin = (current).end;                                                          \
  } while (false)

namespace tg {
namespace {
int yylex(Grammar::semantic_type*, Span* at, TokenCursor& cursor) { return cursor.next(*at); }

template <class T> std::vector<T> append(std::vector<T> items, T item) {
  items.push_back(std::move(item));
  return items;
}

template <class T> std::vector<T> prepend(T item, std::vector<T> items) {
  items.insert(items.begin(), std::move(item));
  return items;
}

ast::Arg positional(Span at, ast::ExprId value) {
  return {ast::ArgKind::Positional, {}, value, at};
}

ast::Slice slice_range(Span at, ast::ExprId begin, ast::ExprId end, ast::ExprId step) {
  return {true, false, begin, end, step, at};
}
} // namespace
} // namespace tg

using tg::ast::Op;
using tg::ast::StmtKind;
using tg::ast::DeclKind;
using tg::ast::ArgKind;
}

%token END 0 "the end of the file"
%token NEWLINE "the end of the line"
%token DECL_END "the end of the declaration"
%token BAD "an unreadable text"
%token NAME "a name" INT "an integer" FLOAT "a number" STRING "a string" PATH "a module"
%token USE "use" FN "fn" MODEL "model" RULESET "ruleset" RULE "rule" OP "op" EXTERN "extern"
%token LET "let" VAR "var" PARAM "param" FOR "for" IN "in" IF "if" ELSE "else" AS "as"
%token WHERE "where" AND "and" OR "or" NOT "not" TRUE "true" FALSE "false"
%token COMMA "," LPAREN "(" RPAREN ")" LBRACKET "[" RBRACKET "]" LBRACE "{" RBRACE "}"
%token COLON ":" ASSIGN "=" ARROW "->" BECOMES "=>" EQUALS "<=>"
%token DOTDOT ".." ELLIPSIS "..."
%token PLUS "+" MINUS "-" STAR "*" SLASH "/" SLASH2 "//" PERCENT "%" AT "@" POW "**"
%token EQ "==" NE "!=" LT "<" LE "<=" GT ">" GE ">="

/* Weakest first, as in Python. */
%left OR
%left AND
%precedence NOT
%nonassoc EQ NE LT LE GT GE
%left PLUS MINUS
%left STAR SLASH SLASH2 PERCENT AT
%precedence SIGN
%right POW

%nterm <ast::ExprId> expr primary call conditional bound loop_range size_range
%nterm <std::vector<ast::ExprId>> exprs dims conditions where
%nterm <ast::ExprId> dim item
%nterm <std::vector<ast::ExprId>> items
%nterm <ast::Arg> arg
%nterm <std::vector<ast::Arg>> args arg_list
%nterm <ast::Slice> slice
%nterm <std::vector<ast::Slice>> slices
%nterm <ast::TypeRef> type simple_type
%nterm <std::vector<ast::TypeRef>> types
%nterm <ast::Param> fn_param rule_param
%nterm <std::vector<ast::Param>> fn_params fn_param_list rule_params rule_param_list
%nterm <ResultTypes> results
%nterm <ast::ResultType> result
%nterm <std::vector<ast::ResultType>> result_list
%nterm <ast::StmtId> stmt
%nterm <std::vector<ast::StmtId>> stmts
%nterm <ast::BlockId> block
%nterm <Targets> targets
%nterm <WeightOptions> weight_options
%nterm <std::vector<ast::Name>> names imports
%nterm <ast::Name> numerics
%nterm <ast::DeclId> decl
%nterm <RuleItem> rule_item
%nterm <std::vector<RuleItem>> rule_items rule_body
%nterm <bool> becomes

%%

file: decls END;

decls:
  %empty
| decls decl DECL_END   { build.add($2); }
| decls error DECL_END  { yyerrok; }
;

decl:
  USE PATH imports                                  { $$ = build.use(@$, @2, $3); }
| FN NAME "(" fn_params ")" results where block
    { $$ = build.function(DeclKind::Fn, @$, @2, $4, $6, $7, $8); }
| MODEL NAME "(" fn_params ")" results where block
    { $$ = build.function(DeclKind::Model, @$, @2, $4, $6, $7, $8); }
| RULESET NAME                                      { $$ = build.ruleset(@$, @2); }
| RULE NAME "(" rule_params ")" numerics rule_body
    { $$ = build.rule(@$, @2, $4, $6, $7); }
| OP NAME "(" fn_params ")" results where "=" expr
    { $$ = build.op(@$, Span{@2.file, @2.begin, @5.end}, @2, $4, $6, $7, $9); }
| EXTERN OP NAME "(" fn_params ")" results where
    { $$ = build.op(@$, Span{@3.file, @3.begin, @6.end}, @3, $5, $7, $8, {}); }
/* After an unreadable head, the body is still parsed. */
| FN error                { yyerrok; }
| FN error block          { yyerrok; }
| MODEL error             { yyerrok; }
| MODEL error block       { yyerrok; }
| RULE error              { yyerrok; }
| RULE error rule_body    { yyerrok; }
;

imports:
  %empty      { }
| ":" names   { $$ = $2; }
;

names:
  NAME            { $$.push_back(build.name(@1)); }
| names "," NAME  { $$ = append($1, build.name(@3)); }
;

comma: %empty | ",";

/* --- parameters, results, types ------------------------------------------------------------- */

fn_params:
  %empty               { }
| fn_param_list comma  { $$ = $1; }
;
fn_param_list:
  fn_param                    { $$.push_back($1); }
| fn_param_list "," fn_param  { $$ = append($1, $3); }
;
fn_param:
  NAME ":" type           { $$ = ast::Param{build.name(@1), $3, {}, false, @$}; }
| NAME ":" type "=" expr  { $$ = ast::Param{build.name(@1), $3, $5, false, @$}; }
/* A later check reports a missing default, with a better message. */
| NAME ":" type IN size_range
    { $$ = ast::Param{build.name(@1), $3, {}, false, @$, $5}; }
| NAME ":" type IN size_range "=" expr
    { $$ = ast::Param{build.name(@1), $3, $7, false, @$, $5}; }
;
size_range:
  expr ".."       { $$ = build.range(@$, @2, $1, {}); }
| expr ".." expr  { $$ = build.range(@$, @2, $1, $3); }
;

rule_params:
  %empty                 { }
| rule_param_list comma  { $$ = $1; }
;
rule_param_list:
  rule_param                      { $$.push_back($1); }
| rule_param_list "," rule_param  { $$ = append($1, $3); }
;
rule_param:
  NAME                { $$ = ast::Param{build.name(@1), {}, {}, false, @$}; }
| NAME ":" type       { $$ = ast::Param{build.name(@1), $3, {}, false, @$}; }
| NAME "..."          { $$ = ast::Param{build.name(@1), {}, {}, true, @$}; }
| NAME "..." ":" type { $$ = ast::Param{build.name(@1), $4, {}, true, @$}; }
;

results:
  %empty                          { $$.span = @$; }
| "->" simple_type                { $$ = ResultTypes{{ast::ResultType{{}, $2, @2}}, false, @2}; }
| "->" "(" result_list comma ")"  { $$ = ResultTypes{$3, true, Span{@2.file, @2.begin, @5.end}}; }
;
result_list:
  result                  { $$.push_back($1); }
| result_list "," result  { $$ = append($1, $3); }
;
result:
  type           { $$ = ast::ResultType{{}, $1, @$}; }
| NAME ":" type  { $$ = ast::ResultType{build.name(@1), $3, @$}; }
;

type:
  simple_type          { $$ = $1; }
| "(" types comma ")"  { $$ = build.tuple_type(@$, $2); }
;
simple_type:
  NAME                      { $$ = build.type(@$, @1); }
| NAME "[" "]"              { $$ = build.type(@$, @1, {}); }
| NAME "[" dims comma "]"   { $$ = build.type(@$, @1, $3); }
;
types:
  type            { $$.push_back($1); }
| types "," type  { $$ = append($1, $3); }
;
dims:
  dim           { $$.push_back($1); }
| dims "," dim  { $$ = append($1, $3); }
;
dim:
  expr        { $$ = $1; }
| NAME "..."  { $$ = build.spread(@$, @1); }
;

where:
  %empty            { }
| WHERE conditions  { $$ = $2; }
;
conditions: exprs comma  { $$ = $1; };

/* --- statements ------------------------------------------------------------------------------- */

block: "{" stmts "}"  { $$ = build.block(@$, $2); };

stmts:
  %empty               { }
| stmts stmt NEWLINE   { $$ = append($1, $2); }
| stmts error NEWLINE  { $$ = $1; yyerrok; }
;

stmt:
  LET targets "=" expr                     { $$ = build.let(@$, StmtKind::Let, $2, $4); }
| VAR targets "=" expr                     { $$ = build.let(@$, StmtKind::Var, $2, $4); }
| expr "=" expr                            { $$ = build.assign(@$, $1, @2, $3); }
| PARAM NAME ":" simple_type weight_options { $$ = build.param(@$, @2, $4, $5); }
| FOR targets IN loop_range block          { $$ = build.loop(@$, $2, $4, $5); }
| expr                                     { $$ = build.expression(@$, $1); }
;

targets:
  NAME                 { $$.names.push_back(build.name(@1)); }
| "(" names comma ")"  { $$ = Targets{$2, true}; }
;

weight_options:
  %empty        { }
| "=" expr      { $$.value = $2; }
| "(" args ")"  { $$.args = $2; }
;

loop_range:
  expr            { $$ = $1; }
| expr ".." expr  { $$ = build.range(@$, @2, $1, $3); }
;

/* --- rules ------------------------------------------------------------------------------------ */

numerics:
  %empty  { }
| NAME    { $$ = build.name(@1); }
;

rule_body: "{" rule_items "}"  { $$ = $2; };

rule_items:
  %empty                        { }
| rule_items rule_item NEWLINE  { $$ = append($1, $2); }
| rule_items error NEWLINE      { $$ = $1; yyerrok; }
;
rule_item:
  LET targets "=" expr       { $$.let = build.let(@$, StmtKind::Let, $2, $4); }
| exprs becomes exprs where  { $$ = RuleItem{{}, $1, $3, $2, @2, $4}; }
| WHERE conditions           { $$.where = $2; }
;
becomes:
  "=>"   { $$ = false; }
| "<=>"  { $$ = true; }
;

/* --- expressions ------------------------------------------------------------------------------ */

items:
  item            { $$.push_back($1); }
| items "," item  { $$ = append($1, $3); }
;
item:
  expr        { $$ = $1; }
| NAME "..."  { $$ = build.spread(@$, @1); }
;

exprs:
  expr            { $$.push_back($1); }
| exprs "," expr  { $$ = append($1, $3); }
;

expr:
  primary            { $$ = $1; }
| "-" expr %prec SIGN { $$ = build.unary(@$, Op::Neg, @1, $2); }
| NOT expr           { $$ = build.unary(@$, Op::Not, @1, $2); }
| expr "+" expr      { $$ = build.binary(@$, Op::Add, @2, $1, $3); }
| expr "-" expr      { $$ = build.binary(@$, Op::Sub, @2, $1, $3); }
| expr "*" expr      { $$ = build.binary(@$, Op::Mul, @2, $1, $3); }
| expr "/" expr      { $$ = build.binary(@$, Op::Div, @2, $1, $3); }
| expr "//" expr     { $$ = build.binary(@$, Op::FloorDiv, @2, $1, $3); }
| expr "%" expr      { $$ = build.binary(@$, Op::Mod, @2, $1, $3); }
| expr "@" expr      { $$ = build.binary(@$, Op::MatMul, @2, $1, $3); }
| expr "**" expr     { $$ = build.binary(@$, Op::Pow, @2, $1, $3); }
| expr "==" expr     { $$ = build.binary(@$, Op::Eq, @2, $1, $3); }
| expr "!=" expr     { $$ = build.binary(@$, Op::Ne, @2, $1, $3); }
| expr "<" expr      { $$ = build.binary(@$, Op::Lt, @2, $1, $3); }
| expr "<=" expr     { $$ = build.binary(@$, Op::Le, @2, $1, $3); }
| expr ">" expr      { $$ = build.binary(@$, Op::Gt, @2, $1, $3); }
| expr ">=" expr     { $$ = build.binary(@$, Op::Ge, @2, $1, $3); }
| expr AND expr      { $$ = build.binary(@$, Op::And, @2, $1, $3); }
| expr OR expr       { $$ = build.binary(@$, Op::Or, @2, $1, $3); }
;

primary:
  NAME                             { $$ = build.name_expr(@1); }
| INT                              { $$ = build.integer(@1); }
| FLOAT                            { $$ = build.real(@1); }
| STRING                           { $$ = build.string(@1); }
| TRUE                             { $$ = build.boolean(@1, true); }
| FALSE                            { $$ = build.boolean(@1, false); }
| BAD                              { $$ = build.bad(@1); }
| "(" expr ")"                     { $$ = $2; }
| "(" ")"                          { $$ = build.tuple(@$, {}); }
| "(" expr "," ")"                 { $$ = build.tuple(@$, {$2}); }
| "(" expr "," exprs comma ")"     { $$ = build.tuple(@$, prepend($2, $4)); }
| "[" "]"                          { $$ = build.list(@$, {}); }
| "[" items comma "]"              { $$ = build.list(@$, $2); }
| call                             { $$ = $1; }
| call AS NAME                     { $$ = build.named_call(@$, $1, @3); }
| primary "[" slices comma "]"     { $$ = build.index(@$, $1, $3); }
| conditional                      { $$ = $1; }
;

call: NAME "(" args ")"  { $$ = build.call(@$, @1, $3); };

args:
  %empty          { }
| arg_list comma  { $$ = $1; }
;
arg_list:
  arg               { $$.push_back($1); }
| arg_list "," arg  { $$ = append($1, $3); }
;
arg:
  expr           { $$ = positional(@$, $1); }
| NAME "=" expr  { $$ = ast::Arg{ArgKind::Named, build.name(@1), $3, @$}; }
| NAME "..."     { $$ = ast::Arg{ArgKind::Spread, {}, build.name_expr(@1), @$}; }
| ".."           { $$ = ast::Arg{ArgKind::Rest, {}, {}, @$}; }
;

slices:
  slice             { $$.push_back($1); }
| slices "," slice  { $$ = append($1, $3); }
;
slice:
  expr                       { $$ = ast::Slice{false, false, $1, {}, {}, @$}; }
| "..."                      { $$ = ast::Slice{false, true, {}, {}, {}, @$}; }
| bound ":" bound            { $$ = slice_range(@$, $1, $3, {}); }
| bound ":" bound ":" bound  { $$ = slice_range(@$, $1, $3, $5); }
;
bound:
  %empty  { }
| expr    { $$ = $1; }
;

conditional:
  IF expr block                   { $$ = build.conditional(@$, $2, $3, {}); }
| IF expr block ELSE block        { $$ = build.conditional(@$, $2, $3, $5); }
| IF expr block ELSE conditional  { $$ = build.conditional(@$, $2, $3, build.block_of($5)); }
;

%%
