/** The libraries that read, verify and decrypt XML, in one place, because their own types bring in those of a browser. */
export { DOMParser } from '@xmldom/xmldom'
export { SignedXml } from 'xml-crypto'
export { decrypt } from 'xml-encryption'
