"""The six quiz questions of the lesson, each answered by the output of a command on a few lines of configuration."""
from __future__ import annotations

import unittest
from typing import Any, Dict, List
from unittest import mock

from support import main, temporary_directory, write
from test_demo import Said, Sleepless, block, copied, edit, run, started


def data(**named: Any) -> Dict[str, Any]:
    """Return a configuration of terraform_data resources; a text is an input, an object the whole body."""
    bodies = {name: body if isinstance(body, dict) else {"input": body} for name, body in named.items()}
    return {"resource": {"terraform_data": bodies}}


def asked(content: Any, *commands: str) -> List[Said]:
    """Return what commands say, one after the other, of one configuration."""
    with temporary_directory() as directory:
        write(directory, "main.tf.json", content)
        return [run(directory, *command.split()) for command in commands]


class Before(unittest.TestCase):
    """Resource B has `bucket_arn = aws_s3_bucket.a.arn` and is written above resource A. In what order are they created?"""

    def test_a_is_created_first_because_b_needs_it_wherever_they_are_written(self) -> None:
        order, apply = asked(data(b="${terraform_data.a.id}", a="bucket"), "order", "apply")
        self.assertEqual(order.out, (
            "wave 1: terraform_data.a\nwave 2: terraform_data.b\n"
            "critical path (2 steps): terraform_data.a -> terraform_data.b\n"))
        self.assertEqual(started(apply.out), ["terraform_data.a", "terraform_data.b"])


class Check1(unittest.TestCase):
    """Four independent time_sleep of one second each: what does -parallelism=1 change compared with the default?"""

    def test_only_how_many_run_at_once_the_order_that_edges_give_stays(self) -> None:
        sleeps = {"resource": {"time_sleep": {name: {"create_duration": "1s"} for name in "abcd"}}}
        one, ten = Sleepless(), Sleepless(together=4)
        with mock.patch.dict(main.PROVIDERS, time_sleep=one):
            order_before, _, = asked(sleeps, "order", "apply -parallelism=1")
        with mock.patch.dict(main.PROVIDERS, time_sleep=ten):
            order_after, _ = asked(sleeps, "order", "apply")
        self.assertEqual((one.seconds, one.most), (4.0, 1))  # one after the other: 4 seconds
        self.assertEqual((ten.seconds, ten.most), (4.0, 4))  # all four at the same time: 1 second
        self.assertEqual(order_before, order_after)


class Check2(unittest.TestCase):
    """Why is the content of config (known after apply) and that of index a literal, though index depends on config?"""

    def test_index_uses_only_an_argument_that_is_known_now(self) -> None:
        with temporary_directory() as directory:
            before = run(copied("demo", directory), "plan").out
            edit(directory, "see ${local_file.config.filename}", "see ${local_file.config.id}")
            after = run(directory, "plan").out
        unknown = "      + content              = (known after apply)\n"
        self.assertIn(unknown, block(before, "local_file.config"))
        self.assertNotIn(unknown, block(before, "local_file.index"))
        self.assertIn(unknown, block(after, "local_file.index"))  # the same edge, another value


class Check3(unittest.TestCase):
    """A create_before_destroy resource must be replaced, another references it: in what order do the steps run?"""

    def test_create_the_new_one_update_the_dependent_destroy_the_old_one(self) -> None:
        stack = data(certificate={"triggers_replace": "1", "lifecycle": {"create_before_destroy": True}},
                     listener="${terraform_data.certificate.id}")
        with temporary_directory() as directory:
            write(directory, "main.tf.json", stack)
            run(directory, "apply")
            edit(directory, '"triggers_replace": "1"', '"triggers_replace": "2"')
            order, apply = run(directory, "order", "-type=apply"), run(directory, "apply")
        self.assertEqual(order.out.split("\n")[:3], [
            "wave 1: terraform_data.certificate", "wave 2: terraform_data.listener",
            "wave 3: terraform_data.certificate (destroy)"])
        self.assertEqual(started(apply.out), [
            "terraform_data.certificate", "terraform_data.listener", "terraform_data.certificate (deposed)"])


class After1(unittest.TestCase):
    """Two security groups' inline rules reference each other's ids: Error: Cycle. What fixes it?"""

    LOOP = data(a="allow ${terraform_data.b.id}", b="allow ${terraform_data.a.id}")

    def test_rules_in_resources_of_their_own_that_reference_both_groups(self) -> None:
        broken, = asked(self.LOOP, "validate")
        self.assertIn("Error: Cycle: terraform_data.a -> terraform_data.b -> terraform_data.a\n", broken.err)
        fixed, = asked(data(a="group", b="group",
                            a_allows_b=["${terraform_data.a.id}", "${terraform_data.b.id}"],
                            b_allows_a=["${terraform_data.b.id}", "${terraform_data.a.id}"]), "order")
        self.assertEqual(fixed.out.split("\n")[:2], [
            "wave 1: terraform_data.a, terraform_data.b", "wave 2: terraform_data.a_allows_b, terraform_data.b_allows_a"])

    def test_depends_on_only_adds_edges_so_the_loop_stays(self) -> None:
        wished, = asked(data(a={"input": "${terraform_data.b.id}", "depends_on": ["terraform_data.b"]},
                             b="${terraform_data.a.id}"), "validate")
        self.assertEqual(wished.status, 1)
        self.assertIn("depends_on cannot help, it only adds edges.", wished.err)


class After2(unittest.TestCase):
    """The instance boots before the policy attachment that nothing references: what is the right change?"""

    ROLE = {"role": "app", "attachment": "${terraform_data.role.id} may read", "profile": "${terraform_data.role.id}"}

    def test_without_an_edge_both_stand_in_no_order(self) -> None:
        order, graph = asked(data(**self.ROLE, instance="${terraform_data.profile.id}"), "order", "graph")
        self.assertEqual(order.out.split("\n")[:3], [
            "wave 1: terraform_data.role", "wave 2: terraform_data.attachment, terraform_data.profile",
            "wave 3: terraform_data.instance"])  # a wave is no promise: the instance waits for the profile alone
        self.assertNotIn('-> "terraform_data.attachment"', graph.out)

    def test_depends_on_the_attachment_adds_the_missing_edge(self) -> None:
        graph, = asked(data(**self.ROLE, instance={"input": "${terraform_data.profile.id}",
                                                   "depends_on": ["terraform_data.attachment"]}), "graph")
        self.assertIn('  "terraform_data.instance" -> "terraform_data.attachment" [style = "dashed"];\n', graph.out)

    def test_a_real_reference_adds_it_too_and_carries_the_value(self) -> None:
        graph, = asked(data(**self.ROLE, instance=["${terraform_data.profile.id}", "${terraform_data.attachment.id}"]), "graph")
        self.assertIn('  "terraform_data.instance" -> "terraform_data.attachment";\n', graph.out)


if __name__ == "__main__":
    unittest.main()
