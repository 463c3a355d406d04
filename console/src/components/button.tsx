/** Buttons: of words, of an icon, and of an action that a menu offers as well. */
import type { ComponentChildren, JSX, TargetedMouseEvent } from 'preact'
import { pressedDenied } from '../api/rights.ts'
import { Icon, type IconName } from './icon.tsx'
import type { MenuItem } from './menu.tsx'

type Attributes = Omit<JSX.IntrinsicElements['button'], 'class' | 'icon' | 'label' | 'onClick'>
type Press = (event: TargetedMouseEvent<HTMLButtonElement>) => void

interface ButtonProps extends Attributes {
  readonly kind?: 'primary' | 'destructive' | undefined
  readonly small?: boolean
  readonly icon?: IconName | undefined
  /** Why it does nothing; the button stays in view and says so. */
  readonly denied?: string | undefined
  readonly onClick?: Press
  readonly children: ComponentChildren
}

export function Button({ kind, small = false, icon, denied, onClick, children, ...attributes }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button ${kind === undefined ? '' : `is-${kind}`} ${small ? 'small' : ''}`}
      {...(denied !== undefined && { 'aria-disabled': true, title: denied })}
      onClick={(event) => {
        pressedDenied.value = denied
        if (denied === undefined) onClick?.(event)
      }}
      {...attributes}
    >
      {icon !== undefined && (
        <>
          <Icon name={icon} />{' '}
        </>
      )}
      {children}
    </button>
  )
}

interface IconButtonProps extends Attributes {
  readonly icon: IconName
  /** Its name. */
  readonly label: string
  readonly small?: boolean
  readonly onClick: Press
}

export function IconButton({ icon, label, small = false, onClick, ...attributes }: IconButtonProps) {
  return (
    <button type="button" class={`icon-button ${small ? 'small' : ''}`} aria-label={label} onClick={onClick} {...attributes}>
      <Icon name={icon} />
    </button>
  )
}

interface ActionButtonProps extends Pick<ButtonProps, 'kind' | 'small' | 'aria-label'> {
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
    <a class={`button ${kind === undefined ? '' : `is-${kind}`} ${small ? 'small' : ''}`} href={href} {...attributes}>
      {icon !== undefined && <Icon name={icon} />} {label}
    </a>
  )
}
