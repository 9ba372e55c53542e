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
