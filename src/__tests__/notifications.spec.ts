import { Notification } from '@jupyterlab/apputils';
import { Signal } from '@lumino/signaling';
import { ILive, ILiveFeed } from '../live';
import { asDeath, notifyOfDeath, unrecordedMessage } from '../notifications';
import { trans } from './fixtures';

const event = {
  schema_id: 'https://events.jupyter-kerneldoctor.org/death/v1',
  recording: 'r1',
  kernel_id: 'k1',
  notebook: '/srv/notebooks/X.ipynb',
  headline: 'The kernel crashed.',
  cause: 'segfault',
  confidence: 0.9,
  watched_after_restart: true
};

const live = {
  changed: new Signal<ILiveFeed, void>({} as ILiveFeed),
  shown: null as ILive | null
};

afterEach(() => Notification.dismiss());

const messages = () =>
  Notification.manager.notifications.map(({ message }) => message);

it('hears deaths, and nothing else', () => {
  expect(asDeath(event)).toMatchObject({ recording: 'r1' });
  expect(
    asDeath({
      schema_id: 'https://events.jupyter.org/jupyter_server/kernel_actions/v1',
      action: 'restart'
    })
  ).toBeNull();
});

it('says which notebook and why, and stays until it is closed', () => {
  const show = jest.fn();
  notifyOfDeath(trans, asDeath(event)!, show, live);
  expect(messages()).toEqual([
    'The kernel of X.ipynb died: The kernel crashed.'
  ]);
  const [{ options }] = Notification.manager.notifications;
  expect(options.autoClose).toBe(false);
  const [action] = options.actions!;
  expect(action.label).toBe('Show why');
  action.callback(new MouseEvent('click'));
  expect(show).toHaveBeenCalledTimes(1);
});

it('puts code between quotation marks, as a toast shows plain text', () => {
  const headline = 'The kernel crashed in cell [3] on `f(x)`.';
  notifyOfDeath(trans, asDeath({ ...event, headline })!, jest.fn(), live);
  expect(messages()).toEqual([
    'The kernel of X.ipynb died: The kernel crashed in cell [3] on “f(x)”.'
  ]);
});

it('says how to have the restarted kernel watched when it is not', () => {
  const death = asDeath({ ...event, watched_after_restart: false })!;
  notifyOfDeath(trans, death, jest.fn(), live);
  expect(messages()).toHaveLength(2);
  expect(messages().join()).toContain('%load_ext kerneldoctor');
  expect(messages().join()).toContain('jupyter kerneldoctor enable');
});

it('gives advice that JupyterLab does not cut off', () => {
  expect(unrecordedMessage(trans).length).toBeLessThanOrEqual(140);
});

it('shows a kernel without a notebook, and no terminal codes', () => {
  const death = asDeath({
    ...event,
    notebook: null,
    headline: '\u001b[31mIt crashed.\u001b[0m'
  })!;
  notifyOfDeath(trans, death, jest.fn(), live);
  expect(messages()).toEqual(['A kernel died: It crashed.']);
});

it('takes the advice back when the restarted kernel is recorded', () => {
  const death = asDeath({ ...event, watched_after_restart: false })!;
  notifyOfDeath(trans, death, null, live);
  const tell = (recording: string) => {
    live.shown = { kernel_id: 'k1', recording, is_recorded: true };
    live.changed.emit();
  };
  tell('r1');
  expect(messages()).toHaveLength(1);
  tell('r2');
  expect(messages()).toEqual([]);
});
