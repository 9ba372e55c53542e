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
