const view=zoomable(document.getElementById("drawing").content.querySelector("svg"),document.title),s=document.querySelector("section");
s.append(view.tools,view.box);document.querySelector(".top").append(themeButton());view.start();
