/** Why something is denied, whom to ask, and the way to the rules behind it. */
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { pressedDenied, questionBehind } from '../api/rights.ts'
import { Banner, IconButton } from './button.tsx'

/** @param reason Of a right, or any other; only rights lead further. */
export function Denied({ reason }: { reason: string }) {
  const question = questionBehind(reason)
  return (
    <>
      {reason}{' '}
      {question !== undefined && (
        <a href={to.access('explain', { ...question })}>Explain my rights</a>
      )}
    </>
  )
}

/** Says why what was pressed does nothing: a touch shows no tooltip. */
export function PressedDenied() {
  const reason = pressedDenied.value
  const { url } = useLocation()
  const close = () => {
    pressedDenied.value = undefined
  }
  useEffect(close, [url])
  if (reason === undefined) return null
  return (
    <Banner tone="info" actions={<IconButton icon="close" label="Close" small onClick={close} />}>
      <Denied reason={reason} />
    </Banner>
  )
}
