"""A model server on the loopback interface that speaks four protocols and answers by a word in the prompt."""
