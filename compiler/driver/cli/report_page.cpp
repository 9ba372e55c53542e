// One file of HTML, style and script, without any reference to a network. Everything is drawn as
// SVG by the script from the JSON in the middle; texts of the trace reach the page as text nodes
// only. Drawings take the width that there is; what is larger scrolls within its own box.
//
// Graphs are drawn in layers (Sugiyama et al. 1981, without the nodes that long edges would pass
// through): each operator right above its first user, the last ones as far down as their longest
// way from an input says. Order and places within layers come from sweeps down and up, in which
// everything goes to the middle of its neighbours. Source and result scroll together.
#include "compiler/driver/cli/report_page.h"

namespace tg::cli {

namespace {

constexpr llvm::StringLiteral kHead = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tangram: report of a search</title>
<style>
:root{--ink:#1d2330;--dim:#68707f;--line:#dde1e8;--back:#f6f7f9;--card:#fff;--mark:#c2410c;--blue:#2457c5}
*{box-sizing:border-box}html{overflow-y:scroll}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:2400px;margin:0 auto;padding:20px;display:grid;gap:16px;grid-template-columns:repeat(12,minmax(0,1fr))}
header,section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 18px;grid-column:span 12;min-width:0}
@media(min-width:1100px){.half{grid-column:span 6}}
h1{font-size:22px;margin:0 0 6px}h2{font-size:15px;margin:0 0 10px}
.dim{color:var(--dim)}.big{font-size:26px;font-weight:600}
.facts{display:flex;flex-wrap:wrap;gap:10px 34px}.facts div span{display:block;color:var(--dim);font-size:12px}
.box{overflow:auto;max-height:560px}h2+.box,.box+h2,p+h2{margin-top:14px}
@media(min-width:1100px){#chain .box{max-height:210px}#chain .box+h2+.box{max-height:330px}}
table{border-collapse:collapse;width:100%;font-size:13px}td,th{padding:4px 8px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n{text-align:right;white-space:nowrap}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}svg .axis{stroke:var(--line)}svg .bound{stroke:var(--mark);stroke-dasharray:5 4}
svg .edge{fill:none;stroke:#b3bac7}svg .node rect{fill:#fff;stroke:#9aa3b2}svg .node.input rect{fill:var(--back);stroke-dasharray:3 2}
svg .node.changed rect{fill:#ffdfcc;stroke:var(--mark);stroke-width:1.5}svg .node text{text-anchor:middle}
button{font:inherit;font-size:13px;padding:2px 10px;margin:0 0 8px}section>details{margin-top:8px}summary{cursor:pointer}
.drawing{max-height:640px;border:1px solid var(--line);border-radius:4px}.drawing svg{display:block;margin:auto}
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
const num=x=>String(Number(x.toPrecision(3))),us=x=>x==null?"?":x>=999.5e3?num(x/1e6)+" s":x>=999.5?num(x/1e3)+" ms":num(x)+" µs";
const inner=s=>s.clientWidth-36; // the width that a section leaves to what it shows
const section=(id,title,cls="")=>{const s=el("section",{id,class:cls},el("h2",{},title));page.append(s);return s};
const tip=(e,t)=>{e.append(sv("title",{},t));return e};
function head(){
 const f=el("div",{class:"facts"});
 const fact=(n,v)=>f.append(el("div",{},el("span",{},n),String(v)));
 fact("search",R.search);fact("extraction",R.extract);fact("costs",R.cost_model);fact("rules",R.rules);
 fact("e-nodes",R.egraph_nodes);fact("simulations",R.simulations??0);fact("time",R.total_s==null?"?":R.total_s.toPrecision(3)+" s");
 fact("at least",R.lower_bound_us==null?"not known":us(R.lower_bound_us));fact("seed",R.seed);fact("stopped by",R.stopped_by);
 page.append(el("header",{},el("h1",{},R.model||"model"),el("p",{class:"big"},us(R.cost_before_us)+" → "+us(R.cost_after_us)+(R.cost_after_us>0?"  ("+(R.cost_before_us/R.cost_after_us).toFixed(3)+"×)":"")),f));
}
function cost(){
 const s=section("cost","Cost over time","half"),P=T.points.filter(p=>p.cost_us!=null);
 if(!P.length){s.append(el("p",{class:"dim"},"no points"));return}
 const B=R.lower_bound_us,w=Math.max(inner(s),420),h=280,l=64,b=28,mx=Math.max(...P.map(p=>p.s),1e-6),lo=Math.min(...P.map(p=>p.cost_us),B??Infinity),hi=Math.max(...P.map(p=>p.cost_us)),sp=(hi-lo)||1;
 const X=t=>l+(w-l-10)*t/mx,Y=c=>10+(h-b-10)*(1-(c-lo)/sp),g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:"100%"});
 for(let i=0;i<=4;i++){const c=lo+sp*i/4;g.append(sv("line",{class:"axis",x1:l,x2:w-10,y1:Y(c),y2:Y(c)}),sv("text",{x:4,y:Y(c)+4},us(c)))}
 g.append(sv("text",{x:w-60,y:h-8},mx.toPrecision(3)+" s"),sv("text",{x:l,y:h-8},"0"));
 let d="",best=Infinity;P.sort((a,c)=>a.s-c.s).forEach((p,i)=>{best=Math.min(best,p.cost_us);d+=(i?"H"+X(p.s)+"V":"M"+X(p.s)+" ")+Y(best)});
 g.append(sv("path",{d,fill:"none",stroke:"#2457c5","stroke-width":2}));
 if(B!=null)g.append(tip(sv("line",{class:"bound",x1:l,x2:w-10,y1:Y(B),y2:Y(B)}),"no graph of the e-graph that holds the result costs less than "+us(B)));
 for(const p of P)if(p.where)g.append(tip(sv("circle",{cx:X(p.s),cy:Y(p.cost_us),r:4,fill:"#2457c5"}),p.where+": "+us(p.cost_us)));
 s.append(g);
}
function heat(){
 const s=section("heat","Rules over time: changes made while searching, used in the result or not","half"),A=T.applications.map(a=>({...a,sum:a.cells.reduce((t,c)=>t+c[1],0)})).sort((a,b)=>b.sum-a.sum).slice(0,60);
 if(!A.length){s.append(el("p",{class:"dim"},"no rule was applied"));return}
 const n=Math.max(T.columns,1),l=210,room=Math.max(inner(s)-l-50,160),cols=Math.min(n,Math.floor(room/8)),cw=Math.min(24,room/cols),rh=15,w=l+Math.max(cols*cw+50,150),h=A.length*rh+24;
 const max=Math.max(...A.flatMap(a=>a.cells.map(c=>c[1])),1),g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w});
 A.forEach((a,r)=>{const sum=new Array(cols).fill(0),at=sum.map(()=>new Set());a.cells.forEach(c=>{const i=Math.min(cols-1,Math.floor(c[0]*cols/n));sum[i]+=c[1];(c[2]||[]).forEach(p=>at[i].add(p))});
  g.append(sv("text",{x:l-6,y:r*rh+12,"text-anchor":"end"},a.rule.length>32?a.rule.slice(0,31)+"…":a.rule));
  sum.forEach((v,c)=>{const f=v?0.15+0.85*Math.log(1+v)/Math.log(1+max):0;g.append(tip(sv("rect",{x:l+c*cw,y:r*rh+1,width:cw-1,height:rh-2,fill:v?`rgba(36,87,197,${Math.min(1,f)})`:"#f0f1f4"}),a.rule+": "+v+[...at[c]].slice(0,12).map(p=>"\n"+p).join("")))});
  g.append(sv("text",{x:l+cols*cw+6,y:r*rh+12},a.sum))});
 g.append(sv("text",{x:l,y:h-6},n>1?"first to last of "+n+" steps":"in one step"));
 s.append(el("div",{class:"box"},g));
}
function tree(){
 const N=T.tree,s=section("tree","Search tree","half");
 if(!N.length){s.style.alignSelf="start";s.append(el("p",{class:"dim"},"this search had no tree"));return}
 const roots=N.map((n,i)=>i).filter(i=>N[i].parent<0),pick=el("select"),box=el("div",{class:"box"});
 roots.forEach((r,i)=>pick.append(el("option",{value:i},`decision ${i+1}, ${N[r].visits} visits${N[r].where?": "+N[r].where:""}`)));
 const draw=r=>{const kids=new Map();N.forEach((n,i)=>{if(n.parent>=0){if(!kids.has(n.parent))kids.set(n.parent,[]);kids.get(n.parent).push(i)}});
  const list=[],todo=[[r,0]];while(todo.length&&list.length<400){const[i,d]=todo.pop();list.push([i,d]);(kids.get(i)||[]).sort((a,b)=>N[a].visits-N[b].visits).forEach(k=>todo.push([k,d+1]))}
  const rh=18,at=list.map(([i,d])=>14+d*22),row=new Map(list.map(([i],y)=>[i,y])),mv=Math.max(...list.map(x=>N[x[0]].visits),1);
  const words=list.map(([i])=>{const n=N[i];return`${n.rule||"root"}${n.places>1?" ×"+n.places:""}${n.where?(n.rule?" at ":" of ")+n.where:""}  ${us(n.cost_us)}`});
  const w=Math.max(...words.map((t,y)=>at[y]+24+t.length*6.6)),h=list.length*rh+10,g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w}),lines=sv("g");
  g.append(lines);
  list.forEach(([i],y)=>{const n=N[i],x=at[y],cy=y*rh+12,p=row.get(n.parent);
   if(p!==undefined)lines.append(sv("path",{d:`M${at[p]} ${p*rh+12}V${cy}H${x}`,fill:"none",stroke:"#c9ced8"}));
   g.append(tip(sv("circle",{cx:x,cy,r:3+5*Math.sqrt(n.visits/mv),fill:n.chosen?"#c2410c":"#2457c5"}),`${n.visits} visits, mean reward ${n.value==null?"?":num(n.value)}, ${n.nodes} e-nodes`));
   g.append(sv("text",{x:x+12,y:cy+4},words[y]))});
  box.replaceChildren(g)};
 pick.onchange=()=>draw(roots[+pick.value]);s.append(pick,box);draw(roots[0]);
}
function chain(){
 const s=section("chain","From source to result","half"),t=el("table",{},el("tr",{},el("th",{},"where"),el("th",{},"cost there"),el("th",{},"rules whose work is in it, and at how many places")));
 for(const p of T.steps)t.append(el("tr",{},el("td",{},p.where),el("td",{class:"n"},us(p.before_us)+" → "+us(p.after_us)),el("td",{},Object.entries(p.rules).map(([n,c])=>n+" ×"+c).join(", "))));
 s.append(T.steps.length?el("div",{class:"box"},t):el("p",{class:"dim"},"the result is the source"));
 if(!T.chain||!T.chain.length)return;
 const b=el("div",{class:"box"});
 T.chain.forEach((p,i)=>{const d=el("details",{},el("summary",{},`${i+1}. ${p.rule}${p.backwards?", backwards":""}`,el("span",{class:"dim"},p.where?"  "+p.where:"")));
  d.append(el("pre",{},p.before),el("pre",{},p.after));b.append(d)});
 s.append(el("h2",{},`Step by step: ${T.chain.length} rewrites, each at one place`),b);
}
// --- graphs ---
const boxWidth=108,boxHeight=20,across=boxWidth+10,down=42,mostDrawn=2500;
const line=(n,i)=>[`%${i} = `,n.op,`(${n.operands.map(o=>"%"+o).join(", ")}) : ${n.type}`];
// Nodes by layer, each right above its first user.
function layers(G,users){
 const depth=G.map(()=>0),rows=[];
 G.forEach((n,i)=>n.operands.forEach(o=>{users[o].push(i);depth[i]=Math.max(depth[i],depth[o]+1)}));
 for(let i=G.length;i-->0;)if(users[i].length)depth[i]=users[i].reduce((m,u)=>Math.min(m,depth[u]),Infinity)-1;
 G.forEach((n,i)=>(rows[depth[i]]=rows[depth[i]]||[]).push(i));
 return Array.from(rows,r=>r||[]);
}
// Where each node stands from left to right. A row keeps its distances, around where it wants to be.
function places(G,rows,users){
 const x=G.map(()=>0);
 rows.forEach(row=>row.forEach((i,k)=>x[i]=(k-row.length/2)*across));
 const settle=(row,near)=>{
  const want=new Map(row.map(i=>[i,near[i].length?near[i].reduce((t,o)=>t+x[o],0)/near[i].length:x[i]]));
  row.sort((a,b)=>want.get(a)-want.get(b)||a-b);
  let at=-Infinity,moved=0;
  for(const i of row){at=Math.max(want.get(i),at+across);x[i]=at;moved+=at-want.get(i)}
  for(const i of row)x[i]-=moved/row.length;
 };
 const operands=G.map(n=>n.operands);
 for(let sweep=0;sweep<6;sweep++)sweep%2?[...rows].reverse().forEach(r=>settle(r,users)):rows.forEach(r=>settle(r,operands));
 const left=Math.min(...x);
 return x.map(v=>v-left+8);
}
function drawing(G){
 const users=G.map(()=>[]),rows=layers(G,users),x=places(G,rows,users),y=G.map(()=>0);
 rows.forEach((row,d)=>row.forEach(i=>y[i]=8+d*down));
 const w=Math.max(...x)+boxWidth+8,h=rows.length*down,g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w});
 G.forEach((n,i)=>n.operands.forEach(o=>{
  const a=x[o]+boxWidth/2,b=x[i]+boxWidth/2,top=y[o]+boxHeight,aside=y[i]-y[o]>down&&Math.abs(a-b)<across?boxWidth*.8:0; // around what is between
  g.append(sv("path",{class:"edge",d:`M${a} ${top}C${a+aside} ${top+18} ${b+aside} ${y[i]-18} ${b} ${y[i]}`}))}));
 G.forEach((n,i)=>{
  const e=sv("g",{class:"node"+(n.changed?" changed":"")+(n.op==="input"?" input":"")});
  e.append(sv("rect",{x:x[i],y:y[i],width:boxWidth,height:boxHeight,rx:4}),sv("text",{x:x[i]+boxWidth/2,y:y[i]+14},n.op.length>15?n.op.slice(0,14)+"…":n.op));
  g.append(tip(e,line(n,i).join("")+(n.attrs?"\n"+n.attrs:"")))});
 return[g,w];
}
// In its own size where it can be read no other way; the button changes that.
function scrolled(s,G){
 const[g,w]=drawing(G),b=el("div",{class:"box drawing"},g),size=el("button",{type:"button"});
 const show=fit=>{g.setAttribute("width",fit?Math.min(w,inner(s)-16):w);size.textContent=fit?"in its own size":"in the width of the page";size.onclick=()=>show(!fit);b.scrollLeft=(b.scrollWidth-b.clientWidth)/2};
 if(w>inner(s))s.append(size);
 s.append(b);show(inner(s)/w>.7);
 return b;
}
function graphs(){
 const boxes=[];
 for(const[id,title,G]of[["source","Source graph",T.source],["result","Result graph",T.result]]){
  const s=section(id,`${title}: ${G.filter(n=>n.op!=="input").length} operators, ${G.filter(n=>n.changed).length} of them not in the other`,"half"),b=el("div",{class:"box graph"});
  if(G.length&&G.length<=mostDrawn)boxes.push(scrolled(s,G));
  G.forEach((n,i)=>{const[a,op,rest]=line(n,i),d=el("div",n.changed?{class:"changed"}:{},a,el("b",{},op),rest);d.title=n.attrs;b.append(d)});
  s.append(el("details",boxes.length?{}:{open:""},el("summary",{},"line by line"),b));
 }
 const part=b=>b.scrollTop/Math.max(b.scrollHeight-b.clientHeight,1);
 for(const b of boxes)b.onscroll=()=>{for(const o of boxes)if(o!==b&&Math.abs(part(o)-part(b))*o.scrollHeight>2)o.scrollTop=part(b)*(o.scrollHeight-o.clientHeight)};
}
head();cost();heat();tree();chain();graphs();document.body.dataset.ready="yes";
</script></body></html>
)html";

} // namespace

llvm::StringRef report_page_head() { return kHead; }
llvm::StringRef report_page_tail() { return kTail; }

} // namespace tg::cli
