/** Buttons: of words, of an icon, and of an action that a menu offers as well. */
import type { ComponentChildren, JSX, TargetedMouseEvent } from 'preact'
import { pressedDenied } from '../api/rights.ts'
import { Icon, type IconName } from './icon.tsx'
import type { MenuItem } from './menu.tsx'

interface Attributes extends Omit<JSX.IntrinsicElements['button'], 'class' | 'icon' | 'label' | 'onClick'> {
  readonly small?: boolean
  readonly onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => void
}

interface Look {
  readonly kind?: 'primary' | 'destructive' | undefined
  readonly small?: boolean
}

interface ButtonProps extends Attributes, Look {
  readonly icon?: IconName | undefined
  /** Why it does nothing; the button stays in view and says so. */
  readonly denied?: string | undefined
  readonly children: ComponentChildren
}

function styleOf({ kind, small }: Look): string {
  return ['button', kind && `is-${kind}`, small && 'small'].filter(Boolean).join(' ')
}

export function Button({ kind, small = false, icon, denied, onClick, children, ...attributes }: ButtonProps) {
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
export function IconButton({ icon, label, small, ...attributes }: Attributes & { icon: IconName; label: string }) {
  return (
    <button type="button" class={`icon-button ${small ? 'small' : ''}`} aria-label={label} {...attributes}>
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
      <Button kind={kind} small={small} icon={icon} denied={denied} onClick={() => onSelect?.()} {...attributes}>
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
