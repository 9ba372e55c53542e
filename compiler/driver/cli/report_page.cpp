// One file of HTML, style and script, without any reference to a network. Everything is drawn as
// SVG by the script from the JSON in the middle; texts of the trace reach the page as text nodes
// only. Widths are relative, and wide drawings scroll within their own box.
#include "compiler/driver/cli/report_page.h"

namespace tg::cli {

namespace {

constexpr llvm::StringLiteral kHead = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tangram: report of a search</title>
<style>
:root{--ink:#1d2330;--dim:#68707f;--line:#dde1e8;--back:#f6f7f9;--card:#fff;--mark:#c2410c;--blue:#2457c5}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1500px;margin:0 auto;padding:20px;display:grid;gap:16px;grid-template-columns:repeat(12,minmax(0,1fr))}
header,section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 18px;grid-column:span 12;min-width:0}
@media(min-width:1100px){.half{grid-column:span 6}}
h1{font-size:22px;margin:0 0 6px}h2{font-size:15px;margin:0 0 10px}
.dim{color:var(--dim)}.big{font-size:26px;font-weight:600}
.facts{display:flex;flex-wrap:wrap;gap:10px 34px}.facts div span{display:block;color:var(--dim);font-size:12px}
.box{overflow:auto;max-height:560px}
table{border-collapse:collapse;width:100%;font-size:13px}td,th{padding:4px 8px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n{text-align:right;white-space:nowrap}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}svg .axis{stroke:var(--line)}
.graph{font:12px/1.45 ui-monospace,monospace;white-space:nowrap}
.graph div{padding:1px 6px;border-left:3px solid transparent}.graph .changed{border-color:var(--mark);background:#fff3ec}
.graph b{font-weight:600}
</style></head><body><main id="page"></main>
<script type="application/json" id="trace">)html";

constexpr llvm::StringLiteral kTail = R"html(</script>
<script>
"use strict";
const T=JSON.parse(document.getElementById("trace").textContent),R=T.report,page=document.getElementById("page");
const el=(n,a={},...k)=>{const e=document.createElement(n);for(const x in a)e.setAttribute(x,a[x]);e.append(...k);return e};
const sv=(n,a={},t)=>{const e=document.createElementNS("http://www.w3.org/2000/svg",n);for(const x in a)e.setAttribute(x,a[x]);if(t!==undefined)e.textContent=t;return e};
const us=x=>x==null?"?":x>=1e6?(x/1e6).toPrecision(3)+" s":x>=1e3?(x/1e3).toPrecision(3)+" ms":x.toPrecision(3)+" µs";
const section=(id,title,cls="")=>{const s=el("section",{id,class:cls},el("h2",{},title));page.append(s);return s};
const tip=(e,t)=>{e.append(sv("title",{},t));return e};
function head(){
 const f=el("div",{class:"facts"});
 const fact=(n,v)=>f.append(el("div",{},el("span",{},n),String(v)));
 fact("search",R.search);fact("extraction",R.extract);fact("costs",R.cost_model);fact("rules",R.rules);
 fact("e-nodes",R.egraph_nodes);fact("simulations",R.simulations??0);fact("time",R.total_s==null?"?":R.total_s.toPrecision(3)+" s");
 fact("seed",R.seed);fact("stopped by",R.stopped_by);
 page.append(el("header",{},el("h1",{},R.model||"model"),el("p",{class:"big"},us(R.cost_before_us)+" → "+us(R.cost_after_us)+"  ("+(R.cost_before_us/R.cost_after_us).toFixed(3)+"×)"),f));
}
function cost(){
 const s=section("cost","Cost over time","half"),P=T.points.filter(p=>p.cost_us!=null);
 if(!P.length){s.append(el("p",{class:"dim"},"no points"));return}
 const w=640,h=260,l=64,b=28,mx=Math.max(...P.map(p=>p.s),1e-6),lo=Math.min(...P.map(p=>p.cost_us)),hi=Math.max(...P.map(p=>p.cost_us)),sp=(hi-lo)||1;
 const X=t=>l+(w-l-10)*t/mx,Y=c=>10+(h-b-10)*(1-(c-lo)/sp),g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:"100%"});
 for(let i=0;i<=4;i++){const c=lo+sp*i/4;g.append(sv("line",{class:"axis",x1:l,x2:w-10,y1:Y(c),y2:Y(c)}),sv("text",{x:4,y:Y(c)+4},us(c)))}
 g.append(sv("text",{x:w-60,y:h-8},mx.toPrecision(3)+" s"),sv("text",{x:l,y:h-8},"0"));
 let d="",best=Infinity;P.sort((a,c)=>a.s-c.s).forEach((p,i)=>{best=Math.min(best,p.cost_us);d+=(i?"H"+X(p.s)+"V":"M"+X(p.s)+" ")+Y(best)});
 g.append(sv("path",{d,fill:"none",stroke:"#2457c5","stroke-width":2}));
 for(const p of P)if(p.where)g.append(tip(sv("circle",{cx:X(p.s),cy:Y(p.cost_us),r:4,fill:"#2457c5"}),p.where+": "+us(p.cost_us)));
 s.append(g);
}
function heat(){
 const s=section("heat","Rules over time","half"),A=T.applications.map(a=>({...a,sum:a.cells.reduce((t,c)=>t+c[1],0)})).sort((a,b)=>b.sum-a.sum).slice(0,60);
 if(!A.length){s.append(el("p",{class:"dim"},"no rule was applied"));return}
 const n=Math.max(T.columns,1),cols=Math.min(n,60),l=230,cw=Math.max(8,Math.min(24,600/cols)),rh=15,w=l+cols*cw+60,h=A.length*rh+24;
 const max=Math.max(...A.flatMap(a=>a.cells.map(c=>c[1])),1),g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w});
 A.forEach((a,r)=>{const sum=new Array(cols).fill(0),at=sum.map(()=>new Set());a.cells.forEach(c=>{const i=Math.min(cols-1,Math.floor(c[0]*cols/n));sum[i]+=c[1];(c[2]||[]).forEach(p=>at[i].add(p))});
  g.append(sv("text",{x:l-6,y:r*rh+12,"text-anchor":"end"},a.rule.length>36?a.rule.slice(0,35)+"…":a.rule));
  sum.forEach((v,c)=>{const f=v?0.15+0.85*Math.log(1+v)/Math.log(1+max):0;g.append(tip(sv("rect",{x:l+c*cw,y:r*rh+1,width:cw-1,height:rh-2,fill:v?`rgba(36,87,197,${Math.min(1,f)})`:"#f0f1f4"}),a.rule+": "+v+[...at[c]].slice(0,12).map(p=>"\n"+p).join("")))});
  g.append(sv("text",{x:l+cols*cw+6,y:r*rh+12},a.sum))});
 g.append(sv("text",{x:l,y:h-6},"first to last of "+n+" steps"));
 s.append(el("div",{class:"box"},g));
}
function tree(){
 const N=T.tree,s=section("tree","Search tree");
 if(!N.length){s.append(el("p",{class:"dim"},"this search had no tree"));return}
 const roots=N.map((n,i)=>i).filter(i=>N[i].parent<0),pick=el("select"),box=el("div",{class:"box"});
 roots.forEach((r,i)=>pick.append(el("option",{value:i},`decision ${i+1}, ${N[r].visits} visits${N[r].where?": "+N[r].where:""}`)));
 const draw=r=>{const kids=new Map();N.forEach((n,i)=>{if(n.parent>=0){if(!kids.has(n.parent))kids.set(n.parent,[]);kids.get(n.parent).push(i)}});
  const list=[],todo=[[r,0]];while(todo.length&&list.length<400){const[i,d]=todo.pop();list.push([i,d]);(kids.get(i)||[]).sort((a,b)=>N[a].visits-N[b].visits).forEach(k=>todo.push([k,d+1]))}
  const rh=18,w=900,h=list.length*rh+10,g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w}),row=new Map(),mv=Math.max(...list.map(x=>N[x[0]].visits),1);
  list.forEach(([i,d],y)=>{row.set(i,[d,y]);const n=N[i],x=14+d*22,cy=y*rh+12,p=row.get(n.parent);
   if(p)g.append(sv("path",{d:`M${14+p[0]*22} ${p[1]*rh+12}V${cy}H${x}`,fill:"none",stroke:"#c9ced8"}));
   g.append(tip(sv("circle",{cx:x,cy,r:3+5*Math.sqrt(n.visits/mv),fill:n.chosen?"#c2410c":"#2457c5"}),`${n.visits} visits, mean reward ${n.value==null?"?":n.value.toPrecision(3)}, ${n.nodes} e-nodes`));
   g.append(sv("text",{x:x+12,y:cy+4},`${n.rule||"root"}${n.places>1?" ×"+n.places:""}${n.where?(n.rule?" at ":" of ")+n.where:""}  ${us(n.cost_us)}`))});
  box.replaceChildren(g)};
 pick.onchange=()=>draw(roots[+pick.value]);s.append(pick,box);draw(roots[0]);
}
function chain(){
 const s=section("chain","From source to result"),t=el("table",{},el("tr",{},el("th",{},"where"),el("th",{},"cost there"),el("th",{},"rules whose work is in it")));
 for(const p of T.steps)t.append(el("tr",{},el("td",{},p.where),el("td",{class:"n"},us(p.before_us)+" → "+us(p.after_us)),el("td",{},Object.entries(p.rules).map(([n,c])=>n+" ×"+c).join(", "))));
 s.append(T.steps.length?el("div",{class:"box"},t):el("p",{class:"dim"},"the result is the source"));
 if(!T.chain||!T.chain.length)return;
 const b=el("div",{class:"box"});
 T.chain.forEach((p,i)=>{const d=el("details",{},el("summary",{},`${i+1}. ${p.rule}${p.backwards?", backwards":""}`,el("span",{class:"dim"},p.where?"  "+p.where:"")));
  d.append(el("pre",{},p.before),el("pre",{},p.after));b.append(d)});
 s.append(el("h2",{},`Step by step: ${T.chain.length} rewrites`),b);
}
function graphs(){
 for(const[id,title,G]of[["source","Source graph",T.source],["result","Result graph",T.result]]){
  const s=section(id,`${title}: ${G.filter(n=>n.op!=="input").length} operators, ${G.filter(n=>n.changed).length} of them not in the other`,"half"),b=el("div",{class:"box graph"});
  G.forEach((n,i)=>{const d=el("div",n.changed?{class:"changed"}:{},"%"+i+" = ",el("b",{},n.op),`(${n.operands.map(o=>"%"+o).join(", ")}) : ${n.type}`);d.title=n.attrs;b.append(d)});s.append(b)}
}
head();cost();heat();tree();chain();graphs();document.body.dataset.ready="yes";
</script></body></html>
)html";

} // namespace

llvm::StringRef report_page_head() { return kHead; }
llvm::StringRef report_page_tail() { return kTail; }

} // namespace tg::cli
