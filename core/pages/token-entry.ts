/** Where the pages of a gateway keep the token that their reader enters, until the tab closes: one entry serves all. */
export const tokenEntry = 'signmesh-token';
