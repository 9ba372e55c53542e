// The pages of `tg report` and of `:graph F.html`: a single HTML file with style and script,
// without any network access. The script draws the charts from the trace in the page. It inserts
// texts of the trace only as text nodes. Graphs are SVG (graph_picture.h); the script lets users
// zoom and pan. Colours are variables with a light and a dark value.
#include "compiler/report/pages/graph_picture.h"

namespace tg::pages {

namespace {

constexpr llvm::StringLiteral kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

constexpr llvm::StringLiteral kStyle = R"css(
:root{color-scheme:light dark;--ink:#1d2330;--dim:#5b6472;--line:#dde1e8;--back:#f3f5f8;--card:#fff;--mark:#c2410c;--marked:#ffe6d8;--blue:#2457c5;--cell:36,87,197;--none:#eceff3}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){--ink:#e6e9ef;--dim:#a3adbd;--line:#2c3442;--back:#0e1116;--card:#171c24;--mark:#ff9a5c;--marked:#472a1b;--blue:#7fa8ff;--cell:127,168,255;--none:#232a35}}
:root[data-theme=dark]{color-scheme:dark;--ink:#e6e9ef;--dim:#a3adbd;--line:#2c3442;--back:#0e1116;--card:#171c24;--mark:#ff9a5c;--marked:#472a1b;--blue:#7fa8ff;--cell:127,168,255;--none:#232a35}
:root[data-theme=light]{color-scheme:light}
*{box-sizing:border-box}html{overflow-y:scroll}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:2400px;margin:0 auto;padding:16px;display:grid;gap:14px;grid-template-columns:repeat(12,minmax(0,1fr))}
header,section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 18px;grid-column:span 12;min-width:0}
@media(min-width:1100px){.half{grid-column:span 6}}
@media(max-width:600px){main{padding:8px;gap:8px}header,section{padding:10px 12px}}
h1{font-size:22px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:15px;margin:0 0 8px}h3{font-size:14px;margin:14px 0 6px}
.top{display:flex;flex-wrap:wrap;gap:6px 10px;align-items:start;justify-content:space-between}.top h1{flex:1 1 240px}.top button{white-space:nowrap}
.dim{color:var(--dim)}.big{font-size:24px;font-weight:600;margin:4px 0 10px}.big small{font-size:14px;font-weight:400;color:var(--dim)}
dl{display:flex;flex-wrap:wrap;gap:8px 30px;margin:0}dt{color:var(--dim);font-size:12px}dd{margin:0;overflow-wrap:anywhere}
section>.chart{max-width:100%;height:auto}
.box{overflow:auto;max-height:560px}
@media(min-width:1100px){#chain .box{max-height:230px}#chain h3+.box{max-height:330px}}
table{border-collapse:collapse;width:100%;font-size:13px}td,th{padding:4px 8px;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:break-word}
td.n{text-align:right;white-space:nowrap}
.chart text{font:11px system-ui,sans-serif;fill:var(--ink)}.chart .axis{stroke:var(--line)}.chart .bound{stroke:var(--mark);stroke-dasharray:5 4}
.chart .result{stroke:var(--ink);stroke-width:2}.chart .best{fill:none;stroke:var(--blue);stroke-width:2}.chart .dot{fill:var(--blue)}.chart .dot.chosen{fill:var(--mark)}.chart .branch{fill:none;stroke:var(--dim);opacity:.5}.chart .none{fill:var(--none)}.chart .name{fill:var(--dim)}
button,select{font:inherit;font-size:13px;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:5px;padding:3px 10px;min-height:30px;max-width:100%}
button:hover{border-color:var(--dim)}:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
.tools{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:0 0 8px}.tools output{min-width:4em;color:var(--dim);font-size:13px}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0 0;padding:0;list-style:none;font-size:12.5px;color:var(--dim)}
.legend li{display:flex;gap:6px;align-items:center}.legend svg{flex:none}
section>details{margin-top:8px}summary{cursor:pointer}pre{overflow:auto;margin:6px 0;font-size:12px}
.drawing{overflow:auto;max-height:min(640px,75vh);border:1px solid var(--line);border-radius:4px;cursor:grab;touch-action:pan-x pan-y}
.drawing svg.graph{background:none}.drawing.dragged{cursor:grabbing;user-select:none}.drawing svg{display:block;margin:auto}
.lines{font:12px/1.45 ui-monospace,monospace;white-space:nowrap}
.lines div{padding:1px 6px;border-left:3px solid transparent}.lines .changed{border-color:var(--mark);background:var(--marked)}
.lines b{font-weight:600}
)css";

/// Common to both pages: the theme switch, and drawings that zoom.
constexpr llvm::StringLiteral kShared = R"js(
"use strict";
const el=(name,attrs={},...children)=>{const e=document.createElement(name);for(const a in attrs)e.setAttribute(a,attrs[a]);e.append(...children);return e};
// A button that switches between three themes. If the page has no storage (a file), the choice is lost when the page is closed.
function themeButton(){
  const forms=["auto","light","dark"],button=el("button",{type:"button"});
  let form="auto";
  try{form=localStorage.getItem("tangram-theme")||form}catch{}
  const show=()=>{
    if(form==="auto")delete document.documentElement.dataset.theme;else document.documentElement.dataset.theme=form;
    button.textContent="Colours: "+(form==="auto"?"system":form);
  };
  button.onclick=()=>{form=forms[(forms.indexOf(form)+1)%3];try{localStorage.setItem("tangram-theme",form)}catch{}show()};
  show();
  return button;
}
// A drawing in a scrolling box. Buttons, keys (+ - 0 1) and Ctrl with the wheel change its size; dragging moves it.
function zoomable(svg,label){
  const width=+svg.getAttribute("width"),height=+svg.getAttribute("height");
  const box=el("div",{class:"drawing",tabindex:"0",role:"group","aria-label":label+"; keys: arrows scroll, + and - zoom, 0 fits the width, 1 shows the original size"},svg);
  const percent=el("output",{"aria-live":"polite"});
  let scale=1;
  const set=(next,x=box.clientWidth/2,y=box.clientHeight/2)=>{
    next=Math.min(4,Math.max(.05,next));
    const left=(box.scrollLeft+x)/scale,top=(box.scrollTop+y)/scale;
    scale=next;
    svg.setAttribute("width",width*scale);svg.setAttribute("height",height*scale);
    box.scrollLeft=left*scale-x;box.scrollTop=top*scale-y;
    percent.textContent=Math.round(scale*100)+"%";
  };
  const fit=()=>set(Math.min(1,(box.clientWidth-4)/width));
  const whole=()=>set(Math.min(1,(box.clientWidth-4)/width,(parseFloat(getComputedStyle(box).maxHeight)||box.clientHeight)/height));
  const button=(text,title,act)=>{const b=el("button",{type:"button",title,"aria-label":title+": "+label},text);b.onclick=act;return b};
  const tools=el("div",{class:"tools"},button("−","zoom out",()=>set(scale/1.25)),button("+","zoom in",()=>set(scale*1.25)),button("width","fit the width",fit),button("whole","show the whole graph",whole),button("100%","original size",()=>set(1)),percent);
  box.addEventListener("keydown",e=>{
    if(e.ctrlKey||e.metaKey||e.altKey)return;
    const act={"+":()=>set(scale*1.25),"=":()=>set(scale*1.25),"-":()=>set(scale/1.25),"0":fit,"1":()=>set(1)}[e.key];
    if(act){e.preventDefault();act()}
  });
  box.addEventListener("wheel",e=>{
    if(!e.ctrlKey&&!e.metaKey)return;
    e.preventDefault();
    const at=box.getBoundingClientRect();
    set(scale*Math.exp(-e.deltaY*.002),e.clientX-at.left,e.clientY-at.top);
  },{passive:false});
  let from=null;
  box.addEventListener("pointerdown",e=>{if(e.button===0&&e.pointerType==="mouse"){from=[e.clientX+box.scrollLeft,e.clientY+box.scrollTop];box.setPointerCapture(e.pointerId);box.classList.add("dragged")}});
  box.addEventListener("pointermove",e=>{if(from){box.scrollLeft=from[0]-e.clientX;box.scrollTop=from[1]-e.clientY}});
  for(const end of["pointerup","pointercancel"])box.addEventListener(end,()=>{from=null;box.classList.remove("dragged")});
  // Highlights the edges of the node under the pointer.
  svg.addEventListener("mouseover",e=>{
    const node=e.target.closest(".node");
    for(const edge of svg.querySelectorAll(".edge"))edge.classList.toggle("lit",!!node&&(edge.dataset.from===node.dataset.node||edge.dataset.to===node.dataset.node));
  });
  // Starts at a readable size. A drawing that would be too small in the width of the box is scrolled to its first node.
  return{box,tools,start(){if(box.clientWidth/width>.6)fit();else{set(box.clientWidth<500?.75:.85);const first=svg.querySelector(".node rect");box.scrollLeft=(+first.getAttribute("x")+first.getAttribute("width")/2)*scale-box.clientWidth/2}}};
}
)js";

constexpr llvm::StringLiteral kReport = R"js(
const T=JSON.parse(document.getElementById("trace").textContent),R=T.report,page=document.getElementById("page");
const sv=(name,attrs={},text)=>{const e=document.createElementNS("http://www.w3.org/2000/svg",name);for(const a in attrs)e.setAttribute(a,attrs[a]);if(text!==undefined)e.textContent=text;return e};
const num=x=>String(Number(x.toPrecision(3)));
const us=x=>x==null?"?":x>=999.5e3?num(x/1e6)+" s":x>=999.5?num(x/1e3)+" ms":num(x)+" µs";
const room=s=>s.clientWidth-parseFloat(getComputedStyle(s).paddingLeft)*2; // the width of the content of a section
const section=(id,title,cls="")=>{const s=el("section",{id,class:cls,"aria-label":title},el("h2",{},title));page.append(s);return s};
const tip=(e,text)=>{e.prepend(sv("title",{},text));return e};
const cut=(text,most)=>text.length>most?text.slice(0,most-1)+"…":text;
// Each entry: a symbol as SVG of 22 by 14, and its meaning.
const legend=entries=>el("ul",{class:"legend","aria-label":"legend"},...entries.map(([sign,text])=>{const g=sv("svg",{width:22,height:14,viewBox:"0 0 22 14","aria-hidden":"true",class:"chart graph"});g.append(...[].concat(sign));return el("li",{},g,text)}));
const redrawn=[];
const draw=(s,make)=>{let old=[];const again=()=>{old.forEach(e=>e.remove());const made=make();s.append(...made);old=made};again();redrawn.push(again)};
function head(){
  const facts=el("dl"),fact=(name,value)=>facts.append(el("div",{},el("dt",{},name),el("dd",{},String(value))));
  fact("search",R.search);fact("extraction",R.extract);fact("costs",R.cost_model);fact("rules",R.rules);
  fact("e-nodes",R.egraph_nodes);fact("simulations",R.simulations??0);fact("time",R.total_s==null?"?":R.total_s.toPrecision(3)+" s");
  fact("lower bound",R.lower_bound_us==null?"unknown":us(R.lower_bound_us)+(R.bound_bytes==null?"":", with weights up to "+num(R.bound_bytes/1048576)+" MiB")+(R.optimal?"":", in the e-graph"));fact("seed",R.seed);fact("stopped by",R.stopped_by);
  const gain=R.changed&&R.cost_before_us>R.cost_after_us;
  const big=gain?el("p",{class:"big"},us(R.cost_before_us)+" → "+us(R.cost_after_us)+" ",el("small",{},R.cost_after_us>0?(R.cost_before_us/R.cost_after_us).toFixed(3)+" times cheaper":"")):el("p",{class:"big"},us(R.cost_before_us)+" ",el("small",{},R.source_returned?"the source is returned":"no cheaper graph was found"));
  page.append(el("header",{},el("div",{class:"top"},el("h1",{},R.model||"model"),themeButton()),big,facts));
}
function cost(){
  const s=section("cost","Cost over time","half"),P=T.points.filter(p=>p.cost_us!=null).sort((a,b)=>a.s-b.s),B=R.lower_bound_us;
  if(!P.length){s.append(el("p",{class:"dim"},"no points"));return}
  draw(s,()=>{
    const w=Math.max(room(s),260),h=w<500?220:280,l=62,b=34,t=12,end=Math.max(...P.map(p=>p.s),1e-6);
    const own=R.source_returned?R.cost_after_us:null; // the result is not the cheapest graph that was priced
    let lo=Math.min(...P.map(p=>p.cost_us),B??Infinity,own??Infinity),hi=Math.max(...P.map(p=>p.cost_us),own??0);
    const flat=hi-lo<1e-9*hi;if(flat){lo=hi*.9;hi=hi*1.1||1}
    const X=v=>l+(w-l-12)*v/end,Y=c=>t+(h-b-t)*(1-(c-lo)/(hi-lo)),g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w,height:h,class:"chart",role:"img","aria-label":`cost of the cheapest graph, from ${us(P[0].cost_us)} to ${us(Math.min(...P.map(p=>p.cost_us)))} in ${us(end*1e6)}`+(own==null?"":`; the source is returned, at ${us(own)}`)});
    for(let i=0;i<=4;i++){const c=lo+(hi-lo)*i/4;g.append(sv("line",{class:"axis",x1:l,x2:w-12,y1:Y(c),y2:Y(c)}),sv("text",{x:l-6,y:Y(c)+4,"text-anchor":"end"},us(c)))}
    for(let i=0;i<=2;i++)g.append(sv("text",{x:X(end*i/2),y:h-b+16,"text-anchor":["start","middle","end"][i]},i?us(end*i/2*1e6):"0"));
    g.append(sv("text",{class:"name",x:l+(w-l-12)/2,y:h-4,"text-anchor":"middle"},"search time"));
    let d="",best=Infinity;P.forEach((p,i)=>{best=Math.min(best,p.cost_us);d+=(i?"H"+X(p.s)+"V":"M"+X(p.s)+" ")+Y(best)});
    g.append(sv("path",{class:"best",d:d+"H"+X(end)}));
    if(B!=null)g.append(tip(sv("line",{class:"bound",x1:l,x2:w-12,y1:Y(B),y2:Y(B)}),"lower bound of the e-graph that contains the result: "+us(B)));
    if(own!=null)g.append(tip(sv("line",{class:"result",x1:l,x2:w-12,y1:Y(own),y2:Y(own)}),"the source, which is returned: "+us(own)));
    for(const p of P)if(p.where)g.append(tip(sv("circle",{class:"dot",cx:X(p.s),cy:Y(p.cost_us),r:4}),p.where+": "+us(p.cost_us)));
    const keys=[[sv("path",{class:"best",d:"M1 7H21"}),own==null?"cheapest graph so far":"cheapest graph so far, which is not the result"],[sv("circle",{class:"dot",cx:11,cy:7,r:4}),"a priced graph; hover to show its origin"]];
    if(own!=null)keys.push([sv("line",{class:"result",x1:1,x2:21,y1:7,y2:7}),"result: the source"]);
    if(B!=null)keys.push([sv("line",{class:"bound",x1:1,x2:21,y1:7,y2:7}),"lower bound of the e-graph"]);
    return[g,legend(keys)];
  });
}
function heat(){
  const s=section("heat","Rules over time: applications during the search","half"),A=T.applications.map(a=>({...a,sum:a.cells.reduce((t,c)=>t+c[1],0)})).sort((a,b)=>b.sum-a.sum).slice(0,60);
  if(!A.length){s.append(el("p",{class:"dim"},"no rule was applied"));return}
  draw(s,()=>{
    const n=Math.max(T.columns,1),wide=room(s),l=wide<480?130:210,letters=wide<480?19:32,space=Math.max(wide-l-52,80),cols=Math.max(1,Math.min(n,Math.floor(space/8))),cw=Math.min(24,space/cols),rh=16,w=l+Math.max(cols*cw+50,110),h=A.length*rh+24;
    const max=Math.max(...A.flatMap(a=>a.cells.map(c=>c[1])),1),g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w,height:h,class:"chart",role:"img","aria-label":"applications of each rule, over the steps of the search: "+A.slice(0,5).map(a=>a.rule+" "+a.sum).join(", ")});
    const shade=v=>v?`rgba(var(--cell),${Math.min(1,.18+.82*Math.log(1+v)/Math.log(1+max))})`:"";
    A.forEach((a,r)=>{
      const sum=new Array(cols).fill(0),at=sum.map(()=>new Set());
      a.cells.forEach(c=>{const i=Math.min(cols-1,Math.floor(c[0]*cols/n));sum[i]+=c[1];(c[2]||[]).forEach(p=>at[i].add(p))});
      g.append(tip(sv("text",{x:l-6,y:r*rh+12,"text-anchor":"end"},cut(a.rule,letters)),a.rule));
      g.lastChild.textContent=cut(a.rule,letters);
      sum.forEach((v,c)=>{const cell=sv("rect",{x:l+c*cw,y:r*rh+1,width:Math.max(cw-1,1),height:rh-2,class:v?"":"none"});if(v)cell.style.fill=shade(v);g.append(tip(cell,a.rule+": "+v+[...at[c]].slice(0,12).map(p=>"\n"+p).join("")))});
      g.append(sv("text",{x:l+cols*cw+6,y:r*rh+12},a.sum));
    });
    g.append(sv("text",{class:"name",x:l,y:h-6},n>1?n+" steps, from first to last":"1 step"));
    const sign=v=>{const e=sv("rect",{x:4,y:1,width:14,height:12,class:v?"":"none"});if(v)e.style.fill=shade(v);return e};
    return[el("div",{class:"box",tabindex:"0",role:"group","aria-label":"rules over time"},g),legend([[sign(0),"not applied"],[sign(1),"once"],[sign(max),max+" times"],[[],"on the right: total, in the result or not"]])];
  });
}
function tree(){
  const N=T.tree,s=section("tree","Search tree","half");
  if(!N.length){s.style.alignSelf="start";s.append(el("p",{class:"dim"},"this search did not build a tree"));return}
  const roots=N.map((n,i)=>i).filter(i=>N[i].parent<0),pick=el("select",{"aria-label":"decision"}),box=el("div",{class:"box",tabindex:"0",role:"group","aria-label":"search tree"});
  roots.forEach((r,i)=>pick.append(el("option",{value:i},cut(`decision ${i+1}, ${N[r].visits} visits${N[r].where?": "+N[r].where:""}`,90))));
  const kids=new Map();N.forEach((n,i)=>{if(n.parent>=0){if(!kids.has(n.parent))kids.set(n.parent,[]);kids.get(n.parent).push(i)}});
  const drawTree=r=>{
    const list=[],open=[[r,0]];
    while(open.length&&list.length<400){const[i,d]=open.pop();list.push([i,d]);[...(kids.get(i)||[])].sort((a,b)=>N[a].visits-N[b].visits).forEach(k=>open.push([k,d+1]))}
    const rh=18,at=list.map(([i,d])=>14+d*22),row=new Map(list.map(([i],y)=>[i,y])),most=Math.max(...list.map(x=>N[x[0]].visits),1);
    const words=list.map(([i])=>{const n=N[i];return`${n.rule||"root"}${n.places>1?" ×"+n.places:""}${n.where?(n.rule?" at ":" of ")+n.where:""}  ${us(n.cost_us)}`});
    const w=Math.max(...words.map((t,y)=>at[y]+24+t.length*6.8)),h=list.length*rh+10,g=sv("svg",{viewBox:`0 0 ${w} ${h}`,width:w,height:h,class:"chart",role:"img","aria-label":`the ${list.length} most visited states of this decision`}),branches=sv("g");
    g.append(branches);
    list.forEach(([i],y)=>{
      const n=N[i],x=at[y],cy=y*rh+12,p=row.get(n.parent);
      if(p!==undefined)branches.append(sv("path",{class:"branch",d:`M${at[p]} ${p*rh+12}V${cy}H${x}`}));
      g.append(tip(sv("circle",{class:n.chosen?"dot chosen":"dot",cx:x,cy,r:3+5*Math.sqrt(n.visits/most)}),`${n.visits} visits, mean reward ${n.value==null?"?":num(n.value)}, ${n.nodes} e-nodes`));
      g.append(sv("text",{x:x+12,y:cy+4},words[y]))});
    box.replaceChildren(g);
  };
  pick.onchange=()=>drawTree(roots[+pick.value]);
  s.append(el("div",{class:"tools"},pick),box,legend([[sv("circle",{class:"dot chosen",cx:11,cy:7,r:5}),"chosen"],[sv("circle",{class:"dot",cx:11,cy:7,r:5}),"visited; larger circles have more visits"]]));
  drawTree(roots[0]);
}
function chain(){
  const s=section("chain","From source to result","half"),table=el("table",{},el("tr",{},el("th",{scope:"col"},"part"),el("th",{scope:"col"},"cost of the part"),el("th",{scope:"col"},"rules in the result, and number of places")));
  for(const p of T.steps)table.append(el("tr",{},el("td",{},p.where),el("td",{class:"n"},us(p.before_us)+" → "+us(p.after_us)),el("td",{},Object.entries(p.rules).map(([n,c])=>n+" ×"+c).join(", "))));
  s.append(T.steps.length?el("div",{class:"box",tabindex:"0",role:"group","aria-label":"result of each part"},table):el("p",{class:"dim"},"the result is the source"));
  if(!T.chain||!T.chain.length)return;
  const box=el("div",{class:"box",tabindex:"0",role:"group","aria-label":"step by step"});
  T.chain.forEach((p,i)=>box.append(el("details",{},el("summary",{},`${i+1}. ${p.rule}${p.backwards?", backwards":""}`,el("span",{class:"dim"},p.where?"  "+p.where:"")),el("pre",{},p.before),el("pre",{},p.after))));
  s.append(el("h3",{},`Step by step: ${T.chain.length} rewrite${T.chain.length===1?"":"s"}, each at one place`),box);
}
const line=(n,i)=>[`%${i} = `,n.op+(n.name?" "+n.name:""),`(${n.operands.map(o=>"%"+o).concat(n.weights||[]).join(", ")})${n.attrs?" {"+n.attrs+"}":""} : ${n.type}`];
function graphs(){
  const boxes=[],sign=cls=>{const g=sv("g",{class:"node "+cls});g.append(sv("rect",{x:2,y:1,width:18,height:12,rx:3}));return g};
  for(const[id,title,G,other]of[["source","Source graph",T.source,"result"],["result","Result graph",T.result,"source"]]){
    const changed=G.filter(n=>n.changed).length,count=G.filter(n=>n.op!=="input").length;
    const s=section(id,`${title}: ${count} operator${count===1?"":"s"}, ${changed?changed+" not in the "+other:count===1?"in the "+other+" too":"all in the "+other+" too"}`,"half"),list=el("div",{class:"box lines",tabindex:"0",role:"group","aria-label":title+", line by line"});
    const made=document.getElementById("drawing-"+id);
    if(made){
      const view=zoomable(made.content.querySelector("svg"),title);
      s.append(view.tools,view.box,legend([[sign(""),"operator, its shape, and its weights in italics"],[sign("input"),"input"],[sign("changed"),"not in the "+other],[sv("path",{class:"edge",d:"M11 0V14"}),"values, from top to bottom"]]));
      view.start();boxes.push(view.box);
    }
    G.forEach((n,i)=>{const[at,op,rest]=line(n,i);list.append(el("div",n.changed?{class:"changed"}:{},at,el("b",{},op),rest))});
    s.append(el("details",made?{}:{open:""},el("summary",{},"line by line"),list));
  }
  const part=b=>b.scrollTop/Math.max(b.scrollHeight-b.clientHeight,1);
  for(const b of boxes)b.onscroll=()=>{for(const o of boxes)if(o!==b&&Math.abs(part(o)-part(b))*o.scrollHeight>2)o.scrollTop=part(b)*(o.scrollHeight-o.clientHeight)};
}
head();cost();heat();tree();chain();graphs();
let waiting;addEventListener("resize",()=>{clearTimeout(waiting);waiting=setTimeout(()=>redrawn.forEach(again=>again()),150)});
document.body.dataset.ready="yes";
)js";

constexpr llvm::StringLiteral kDrawing = R"js(
const view=zoomable(document.getElementById("drawing").content.querySelector("svg"),document.title),s=document.querySelector("section");
s.append(view.tools,view.box);document.querySelector(".top").append(themeButton());view.start();
)js";

std::string head(llvm::StringRef title) {
  return (kHead + "<title>" + escape_xml(title) + "</title>\n<style>" + kStyle + svg_style() +
          "</style></head>\n")
      .str();
}

/// A drawing that the script inserts into the page.
std::string drawing(const Picture& picture, llvm::StringRef id) {
  if (picture.nodes.empty() || picture.nodes.size() > kMostDrawn) return "";
  return ("<template id=\"" + id + "\">" + svg_text(picture) + "</template>\n").str();
}

/// Escapes JSON for a script element, so that nothing in it can end the element.
std::string for_script(llvm::StringRef json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

} // namespace

std::string report_page(llvm::StringRef json, const Picture& source, const Picture& result) {
  std::string title = source.title.empty() ? "model" : source.title;
  return head(title + " - Tangram, report of a search") + "<body><main id=\"page\"></main>\n" +
         drawing(source, "drawing-source") + drawing(result, "drawing-result") +
         "<script type=\"application/json\" id=\"trace\">" + for_script(json) +
         "</script>\n<script>" + kShared.str() + kReport.str() + "</script>\n</body></html>\n";
}

std::string drawing_page(const Picture& picture) {
  std::string title = picture.title.empty() ? "model" : picture.title;
  return head(title + " - Tangram, a graph") + "<body><main><section><div class=\"top\"><h1>" +
         escape_xml(title) + "</h1></div></section></main>\n" + drawing(picture, "drawing") +
         "<script>" + kShared.str() + kDrawing.str() + "</script>\n</body></html>\n";
}

} // namespace tg::pages
