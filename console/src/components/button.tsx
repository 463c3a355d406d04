/** Buttons of words, of icons and of actions that a menu offers as well; and banners. */
import type { ComponentChildren, JSX, TargetedMouseEvent } from 'preact'
import { useState } from 'preact/hooks'
import { pressedDenied } from '../api/rights.ts'
import type { MenuItem } from './menu.tsx'
import { Icon, type IconName } from './text.tsx'

interface Attributes
  extends Omit<JSX.IntrinsicElements['button'], 'class' | 'icon' | 'label' | 'onClick'> {
  readonly small?: boolean
  readonly onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => void
}

interface Look {
  readonly kind?: 'primary' | 'destructive'
  readonly small?: boolean
}

interface ButtonProps extends Attributes, Look {
  readonly icon?: IconName
  /** Why it does nothing; the button stays in view and says so. */
  readonly denied?: string
  readonly children: ComponentChildren
}

function styleOf({ kind, small }: Look) {
  return ['button', kind && `is-${kind}`, small && 'small'].filter(Boolean).join(' ')
}

export function Button({
  kind,
  small = false,
  icon,
  denied,
  onClick,
  children,
  ...attributes
}: ButtonProps) {
  return (
    <button
      type="button"
      class={styleOf({ kind, small })}
      {...(denied !== undefined && { 'aria-disabled': true, title: denied })}
      onClick={(event) => {
        pressedDenied.value = denied
        if (denied === undefined) onClick?.(event)
      }}
      {...attributes}
    >
      {icon !== undefined && <Icon name={icon} />} {children}
    </button>
  )
}

/** @param label Its name. */
export function IconButton({
  icon,
  label,
  small,
  ...attributes
}: Attributes & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      class={`icon-button ${small ? 'small' : ''}`}
      aria-label={label}
      title={label}
      {...attributes}
    >
      <Icon name={icon} />
    </button>
  )
}

interface ActionButtonProps extends Look, Pick<Attributes, 'aria-label'> {
  readonly action: MenuItem
  /** A letter that presses it. */
  readonly 'data-key'?: string
}

/** An entry of a menu that stands outside of it. */
export function ActionButton({ action, kind, small = false, ...attributes }: ActionButtonProps) {
  const { label, icon, href, denied, onSelect } = action
  if (href === undefined || denied !== undefined) {
    return (
      <Button
        kind={kind}
        small={small}
        icon={icon}
        denied={denied}
        onClick={() => onSelect?.()}
        {...attributes}
      >
        {label}
      </Button>
    )
  }
  return (
    <a class={styleOf({ kind, small })} href={href} {...attributes}>
      {icon !== undefined && <Icon name={icon} />} {label}
    </a>
  )
}

const outcomes = {
  copied: { icon: 'check', label: 'Copied' },
  refused: { icon: 'warn', label: 'The browser refused to copy; select the text instead.' },
} as const

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [outcome, setOutcome] = useState<keyof typeof outcomes>()
  const copy = async () => {
    setOutcome((await copyText(text)) ? 'copied' : 'refused')
    setTimeout(() => setOutcome(undefined), 2000)
  }
  const shown = outcome === undefined ? ({ icon: 'copy', label } as const) : outcomes[outcome]
  return (
    <IconButton
      {...shown}
      small
      onClick={() => void copy()}
      title={outcome === 'copied' ? label : shown.label}
    />
  )
}

/** Pages without HTTPS have no clipboard of their own. @returns whether it was copied */
export async function copyText(text: string): Promise<boolean> {
  const written = navigator.clipboard?.writeText(text).then(() => true)
  if (await written?.catch(() => false)) return true
  const before = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  // Outside an open dialog nothing can be selected.
  const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  place.append(field)
  field.select()
  const isDone = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isDone
}

type Tone = 'info' | 'warning' | 'failed'

export function Banner({
  tone,
  children,
  actions,
}: {
  tone: Tone
  children: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <div class={`banner is-${tone}`} role={tone === 'failed' ? 'alert' : 'status'}>
      <Icon name={tone === 'info' ? 'info' : 'warn'} />
      <div class="grow">{children}</div>
      {actions}
    </div>
  )
}
