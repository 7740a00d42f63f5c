/** The header by which a page marks what it reads for itself: such reads are not among the requests that the page lists. */
export const pageReadsHeader = 'signmesh-page-reads';
