// mdBook takes every link to a Markdown file for one to a page of the book. Those that lead out of it, into the repository, are
// to the file as it is; from `docs/book/` it is where it is from `docs/src/`.
for (const link of document.querySelectorAll('main a[href^="../../"]')) {
    link.setAttribute("href", link.getAttribute("href").replace(/\.html(#|$)/, ".md$1"));
}
