"""Optimization as a game: the environment alone, and Gymnasium's checker if it is installed."""
import importlib.util
import unittest
import warnings
from unittest import mock

import numpy

import tangram
from models import PRODUCTS, TWINS

PRICES = {"rewards": "prices", "cost": "analytic:cpu", "measure_every": 1, "threads": 1}

# Two products of one value, which rules merge, and a redundant relu.
ROOM = """
model room(x: f32[4, 8]) {
  param a: f32[8, 16]
  param b: f32[8, 16]
  relu(relu(x @ a)) + x @ b
}
"""


def game(text=ROOM, **options):
    env = tangram.rl.Environment(tangram.parse(text), **{**PRICES, **options})
    env.reset()
    return env


class Games(unittest.TestCase):
    def test_candidates_come_in_one_order_and_lead_where_they_say(self):
        one, two = game(), game()
        self.assertGreater(len(one.candidates), 1)
        self.assertEqual(one.candidates, two.candidates)
        for action in range(one.stop):
            self.assertTrue(one.after(action).verify(one.source), one.candidates[action])
        self.assertEqual(one.after(one.stop).text, one.model.text)

    def test_rewards_are_hundredths_of_the_source(self):
        env = game()
        action = [r.rule for r in env.candidates].index("relu_relu")
        _, reward, terminated, truncated, info = env.step(action)
        self.assertAlmostEqual(reward, 100 * (1 - info["time_us"] / info["source_us"]))
        self.assertEqual((terminated, truncated, info["measured"]), (False, False, True))
        self.assertEqual((info["rewrite"].rule, env.path[0].rule), ("relu_relu", "relu_relu"))
        self.assertEqual(env.best.model.op_count, 4)
        self.assertEqual(env.step(env.stop)[1:4], (0.0, True, False))
        with self.assertRaisesRegex(tangram.Error, "reset"):
            env.step(0)

    def test_the_horizon_cuts_and_waiting_steps_have_their_reward(self):
        env = game(horizon=2, measure_every=0, waiting_reward=0.5)
        self.assertEqual(env.step(0)[1:4], (0.5, False, False))
        self.assertEqual(env.step(0)[2:4], (False, True))

    def test_rewards_and_clocks_of_ones_own(self):
        seen = []
        env = game(reward=lambda step: seen.append(step) or 7, time=lambda model: 1e-6 * model.op_count)
        self.assertEqual(env.step(0)[1], 7)
        self.assertEqual(seen[0].step, 1)
        self.assertAlmostEqual(seen[0].source_us, 5)

    def test_exceptions_are_passed_on(self):
        def fail(_):
            raise KeyError("lost")
        with self.assertRaises(KeyError):
            game(time=fail)
        with self.assertRaisesRegex(TypeError, "must return a number"):
            game(time=lambda model: "long")
        env = game(reward=fail)
        with self.assertRaises(KeyError):
            env.step(0)

    def test_measured_rewards(self):
        env = game(rewards="measured", cost="measured:cpu")
        self.assertGreater(env.step(env.stop)[4]["source_us"], 0)

    def test_observations_hold_the_graphs(self):
        env = game(PRODUCTS, max_candidates=40, max_operators=12)
        observation, graphs = env.observation(), env.graphs()
        self.assertEqual(observation["operators"].shape, (40, 12))
        self.assertEqual(observation["action_mask"].sum(), len(graphs))
        self.assertEqual(graphs[-1].names(), ["matmul", "matmul", "add"])
        last = observation["operators"][env.stop]
        self.assertEqual([tangram.rl.OPERATORS[n] for n in last if n], graphs[-1].names())
        self.assertEqual(graphs[-1].edges.tolist(), [[0, 2], [1, 2]])
        self.assertEqual(graphs[-1].traits.shape, (3, tangram.rl.TRAITS))
        numpy.testing.assert_array_equal(observation["traits"][env.stop, :3], graphs[-1].traits)

    def test_most_candidates_and_most_operators_are_kept(self):
        self.assertEqual(len(game(TWINS, max_candidates=2).candidates), 1)
        for graph in game(PRODUCTS, max_operators=3).graphs():
            self.assertLessEqual(graph.nodes, 3)

    def test_actions_behind_the_last_are_to_stop(self):
        env = game(TWINS)
        self.assertTrue(env.step(env.max_candidates - 1)[2])
        env.reset()
        with self.assertRaises(IndexError):
            env.step(-1)

    def test_before_the_first_episode_there_is_no_state(self):
        env = tangram.rl.Environment(tangram.parse(ROOM), **PRICES)
        self.assertEqual(env._core.model.text(), env.source.text)
        for ask in (env._core.after, env._core.numbers):
            with self.assertRaisesRegex(tangram.Error, "reset"):
                ask(0)

    def test_invalid_options_are_refused(self):
        model = tangram.parse(ROOM)
        for options, kind, text in (({"rewards": "guessed"}, ValueError, "measured or prices"),
                                    ({"budget": 3}, TypeError, "unknown option `budget`"),
                                    ({"rules": ["no_such_rule"]}, tangram.Error, "no_such_rule"),
                                    ({"horizon": 0}, tangram.Error, "horizon"),
                                    ({"horizon": -1}, ValueError, "horizon must be a whole number from 0"),
                                    ({"measure_every": -5}, ValueError, "measure_every"),
                                    ({"max_candidates": 1.5}, TypeError, "max_candidates must be a whole number, not 1.5"),
                                    ({"waiting_reward": float("nan")}, ValueError, "not finite")):
            with self.subTest(options), self.assertRaisesRegex(kind, text):
                tangram.rl.Environment(model, **{**PRICES, **options})

    def test_rewards_and_times_that_are_none_are_refused(self):
        with self.assertRaisesRegex(ValueError, "the reward is nan"):
            game(reward=lambda step: float("nan")).step(0)
        with self.assertRaisesRegex(tangram.Error, "clock"):
            game(time=lambda model: float("inf")).step(0)
        with self.assertRaisesRegex(ValueError, "action"):
            game().after(-1)


class WithoutGymnasium(unittest.TestCase):
    def test_its_classes_name_the_package_to_install(self):
        env = game()
        with mock.patch.dict("sys.modules", {"gymnasium": None}):
            self.assertFalse(env.step(0)[2])
            for ask in (lambda: env.action_space, lambda: env.observation_space,
                        lambda: tangram.rl.gymnasium(env.source, **PRICES)):
                with self.assertRaisesRegex(ImportError, "pip install gymnasium"):
                    ask()


@unittest.skipUnless(importlib.util.find_spec("gymnasium"), "Gymnasium is not installed")
class WithGymnasium(unittest.TestCase):
    def test_its_own_check(self):
        from gymnasium.utils.env_checker import check_env

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=".*spec.*")  # it is not made by name
            check_env(tangram.rl.gymnasium(tangram.parse(ROOM), render_mode="ansi", **PRICES))

    def test_an_episode_of_sampled_actions(self):
        env = tangram.rl.gymnasium(tangram.parse(ROOM), horizon=6, **PRICES)
        observation, _ = env.reset(seed=3)
        env.action_space.seed(3)
        done = False
        while not done:
            self.assertIn(observation, env.observation_space)
            action = env.action_space.sample(mask=observation["action_mask"])
            observation, _, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
        self.assertLessEqual(env.unwrapped.game.best.time_us, env.unwrapped.game._core.source_us)


if __name__ == "__main__":
    unittest.main()
